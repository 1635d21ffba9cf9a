/** The newest samples of a stream in typed arrays, without an object for each sample. */

/** Columns of numbers with ascending times; the oldest samples are overwritten. */
export class SampleRing {
    /** @param {number} columns @param {number} capacity samples; rounded up to a power of two */
    constructor(columns, capacity) {
        let size = 16;
        while (size < capacity) size *= 2;
        this.mask = size - 1;
        this.times = new Float64Array(size);
        this.columns = Array.from({ length: columns }, () => new Float32Array(size));
        /** Number of samples that were ever appended. */
        this.end = 0;
    }

    /** Index of the oldest sample; indices count from the first sample ever. */
    get start() {
        return Math.max(0, this.end - this.times.length);
    }

    get newest() {
        return this.end > 0 ? this.times[(this.end - 1) & this.mask] : null;
    }

    /**
     * Appends a sample unless it is not newer than the newest one.
     * @param {number} time µs @param {(number|null|undefined)[]} values
     */
    append(time, values) {
        if (this.end > 0 && time <= this.times[(this.end - 1) & this.mask]) return false;
        const slot = this.end & this.mask;
        this.times[slot] = time;
        for (let c = 0; c < this.columns.length; c += 1) this.columns[c][slot] = values[c] ?? NaN;
        this.end += 1;
        return true;
    }

    /** @param {number} index */
    timeAt(index) {
        return this.times[index & this.mask];
    }

    /** @param {number} index @param {number} column */
    valueAt(index, column) {
        return this.columns[column][index & this.mask];
    }

    /** Index of the first sample at or after a time; `end` if there is none. @param {number} time µs */
    indexAt(time) {
        let low = this.start;
        let high = this.end;
        while (low < high) {
            const middle = Math.floor((low + high) / 2);
            if (this.times[middle & this.mask] < time) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    /**
     * The sample nearest to a time; null if it is further away than `reach`.
     * @param {number} time µs @param {number} reach µs @returns {number[]|null}
     */
    nearest(time, reach = 1e6) {
        let i = this.indexAt(time);
        if (i > this.start && (i >= this.end || time - this.timeAt(i - 1) < this.timeAt(i) - time)) i -= 1;
        if (i >= this.end || Math.abs(this.timeAt(i) - time) > reach) return null;
        return this.columns.map((column) => column[i & this.mask]);
    }

    /**
     * The values at a time, interpolated between two samples; null outside of the samples or within a gap.
     * @param {number} time µs @param {number} gap µs; samples further apart are not connected
     * @returns {number[]|null}
     */
    at(time, gap = 1e6) {
        const next = this.indexAt(time);
        if (next >= this.end) {
            const newest = this.newest;
            return newest !== null && time - newest < gap ? this.columns.map((column) => column[(this.end - 1) & this.mask]) : null;
        }
        if (next === this.start) return this.timeAt(next) - time < gap ? this.columns.map((column) => column[next & this.mask]) : null;
        const t0 = this.timeAt(next - 1);
        const t1 = this.timeAt(next);
        if (t1 - t0 > gap) return time - t0 < gap ? this.columns.map((column) => column[(next - 1) & this.mask]) : null;
        const share = (time - t0) / (t1 - t0);
        return this.columns.map((column) => {
            const a = column[(next - 1) & this.mask];
            return a + (column[next & this.mask] - a) * share;
        });
    }
}
