/** A canvas that has one pixel for each pixel of the screen. */

/**
 * @param {HTMLCanvasElement} canvas sized by the style sheet
 * @param {() => void} onresize called with the new size, also at the beginning
 */
export function fitCanvas(canvas, onresize) {
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const fitted = { context, width: 0, height: 0, scale: 1, stop: () => observer.disconnect() };
    function fit(width, height) {
        fitted.scale = Math.min(3, window.devicePixelRatio || 1);
        if (width === fitted.width && height === fitted.height) return;
        fitted.width = width;
        fitted.height = height;
        canvas.width = Math.max(1, Math.round(width * fitted.scale));
        canvas.height = Math.max(1, Math.round(height * fitted.scale));
        onresize();
    }
    const observer = new ResizeObserver(([entry]) => fit(entry.contentRect.width, entry.contentRect.height));
    observer.observe(canvas);
    return fitted;
}
