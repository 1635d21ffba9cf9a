/** Arithmetic of a virtual list: which of its rows exist in the document. Pure functions. */

/**
 * Returns the range of rows to render: those in view and some on either side.
 * @param {{count: number, rowHeight: number, scrollTop: number, height: number, overscan?: number}} list
 * @returns {{first: number, end: number}} `end` is excluded
 */
export function visibleRows({ count, rowHeight, scrollTop, height, overscan = 6 }) {
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - overscan);
    const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + overscan);
    return { first: Math.min(first, Math.max(0, end)), end: Math.max(0, end) };
}

/**
 * Returns the scroll position at which a row is completely in view, changed as little as possible.
 * @param {{index: number, rowHeight: number, scrollTop: number, height: number}} list
 */
export function scrollToRow({ index, rowHeight, scrollTop, height }) {
    const top = index * rowHeight;
    if (top < scrollTop) return top;
    if (top + rowHeight > scrollTop + height) return top + rowHeight - height;
    return scrollTop;
}

/**
 * Returns the row that a key moves to, or null if the key does not move.
 * @param {string} key @param {number} index @param {number} count @param {number} page rows of a page
 */
export function rowForKey(key, index, count, page) {
    if (count === 0) return null;
    switch (key) {
        case "ArrowDown": return Math.min(count - 1, index + 1);
        case "ArrowUp": return Math.max(0, index - 1);
        case "PageDown": return Math.min(count - 1, index + page);
        case "PageUp": return Math.max(0, index - page);
        case "Home": return 0;
        case "End": return count - 1;
        default: return null;
    }
}
