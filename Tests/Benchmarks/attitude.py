"""Measures the batch call of the reference implementation vqf, for the benchmark 'attitude'.

    attitude.py FILE.csv...

Runs one round for each line on standard input, and prints its speed in samples per second.
"""
import sys
import time

import numpy as np
import vqf

tables = []
for path in sys.argv[1:]:
    header = open(path).readline().strip().split(",")
    data = np.genfromtxt(path, delimiter=",", skip_header=1)
    column = {name: index for index, name in enumerate(header)}
    interval = (data[-1, column["t_us"]] - data[0, column["t_us"]]) / (len(data) - 1) / 1e6
    names = ("gx_rad_s gy_rad_s gz_rad_s", "ax_m_s2 ay_m_s2 az_m_s2", "mx_uT my_uT mz_uT")
    tables.append([data[:, [column[name] for name in group.split()]] for group in names])
sensors = [np.ascontiguousarray(np.concatenate([table[index] for table in tables])) for index in range(3)]

for _ in sys.stdin:
    estimator = vqf.VQF(interval)
    begin = time.perf_counter()
    out = estimator.updateBatch(*sensors)
    elapsed = time.perf_counter() - begin
    assert len(out["quat9D"]) == len(sensors[0])
    print(len(sensors[0]) / elapsed, flush=True)
