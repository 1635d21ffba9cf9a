"""Runs the reference implementation of VQF on a recording and writes its output as doubles.

reference.py FILE.csv OUT: for each row quat6D (4), quat9D (4), bias (3), bias sigma, rest, disturbed.
reference.py FILE.csv OUT offline: the same, from samples before and after each row.
"""
import sys

import numpy as np
import vqf

header = open(sys.argv[1]).readline().strip().split(",")
data = np.genfromtxt(sys.argv[1], delimiter=",", skip_header=1)
column = {name: index for index, name in enumerate(header)}
sensors = [
    np.ascontiguousarray(data[:, [column[name] for name in names]])
    for names in (
        ["gx_rad_s", "gy_rad_s", "gz_rad_s"],
        ["ax_m_s2", "ay_m_s2", "az_m_s2"],
        ["mx_uT", "my_uT", "mz_uT"],
    )
]
interval = (data[-1, column["t_us"]] - data[0, column["t_us"]]) / (len(data) - 1) / 1e6
if sys.argv[3:] == ["offline"]:
    out = vqf.offlineVQF(*sensors, interval)
else:
    out = vqf.VQF(interval).updateBatch(*sensors)
rows = np.column_stack(
    [out["quat6D"], out["quat9D"], out["bias"], out["biasSigma"], out["restDetected"], out["magDistDetected"]]
)
rows.astype("<f8").tofile(sys.argv[2])
