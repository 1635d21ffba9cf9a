/** What was measured in a selection of a plot. Pure functions; times in µs. */

import { lowerBound } from "./envelope.js";

/**
 * Returns the statistics of each column between two times, from the rows of a plot. Where rows are buckets, minimum, maximum
 * and count are exact up to a bucket at each end; the mean is that of the buckets' middles, and so approximate.
 * @param {import("./envelope.js").Series} series @param {number} from @param {number} to @param {boolean[]} shown
 * @returns {{name: string, unit: string, low: number, high: number, mean: number, change: number, count: number, isExact: boolean}[]}
 */
export function statisticsOf(series, from, to, shown) {
    const first = lowerBound(series.times, from);
    const end = lowerBound(series.times, to);
    const result = [];
    series.columns.forEach((name, c) => {
        if (!shown[c]) return;
        let [low, high, sum, count] = [Infinity, -Infinity, 0, 0];
        let [begin, last] = [NaN, NaN];
        for (let i = first; i < end; i += 1) {
            const [least, most] = [series.low[c][i], series.high[c][i]];
            if (Number.isNaN(least)) continue;
            const middle = (least + most) / 2;
            const samples = series.counts?.[i] ?? 1;
            if (count === 0) begin = middle;
            last = middle;
            low = Math.min(low, least);
            high = Math.max(high, most);
            sum += middle * samples;
            count += samples;
        }
        if (count > 0) result.push({ name, unit: series.units[c], low, high, mean: sum / count, change: last - begin, count, isExact: series.counts === null });
    });
    return result;
}
