/** One animation loop for all that moves on the page. */

/** @type {Set<(time: number) => void>} */
const painters = new Set();
let handle = 0;

/** Calls `paint` before each repaint, with the time in ms; returns a function that ends this. @param {(time: number) => void} paint */
export function onFrame(paint) {
    painters.add(paint);
    if (!handle) handle = requestAnimationFrame(run);
    return () => {
        painters.delete(paint);
    };
}

/** @param {number} time */
function run(time) {
    handle = painters.size ? requestAnimationFrame(run) : 0;
    for (const paint of painters) paint(time);
}

/** Tells whether an element is in the window, so that what is out of view is not painted. @param {Element} element @param {() => void} [onshow] called when it comes into view */
export function watchVisible(element, onshow) {
    const state = { visible: true, stop: () => observer.disconnect() };
    const observer = new IntersectionObserver(([entry]) => {
        state.visible = entry.isIntersecting;
        if (state.visible) onshow?.();
    }, { rootMargin: "80px" });
    observer.observe(element);
    return state;
}

/**
 * Returns a function that draws with the next frame, once for any number of calls. A hidden page has no frames: it draws
 * a little later.
 * @param {() => void} draw
 */
export function oncePerFrame(draw) {
    let frame = 0;
    let timer = 0;
    function run() {
        cancelAnimationFrame(frame);
        clearTimeout(timer);
        frame = timer = 0;
        draw();
    }
    return () => {
        if (frame) return;
        frame = requestAnimationFrame(run);
        timer = setTimeout(run, 250);
    };
}
