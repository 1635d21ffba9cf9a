/** One animation loop for all that moves on the page. */

/** @type {Set<(time: number) => boolean|void>} */
const painters = new Set();
let handle = 0;
/** Frames in a row in which nothing has changed. */
let still = 0;
let rest = 0;

/** After this number of frames without a change, the loop rests. */
const STILL = 60;
/** The time of a rest, in ms. What a person does ends it. */
const REST = 250;

/**
 * Calls `paint` before each repaint, with the time in ms; returns a function that ends this. While all paint functions return
 * false, because nothing moves, they are called four times a second.
 * @param {(time: number) => boolean|void} paint
 */
export function onFrame(paint) {
    painters.add(paint);
    wake();
    return () => {
        painters.delete(paint);
    };
}

/** @param {number} time */
function run(time) {
    handle = 0;
    let isStill = true;
    for (const paint of painters) if (paint(time) !== false) isStill = false;
    still = isStill ? still + 1 : 0;
    if (!painters.size) return;
    if (still < STILL) next();
    else rest = setTimeout(next, REST);
}

function next() {
    clearTimeout(rest);
    rest = 0;
    if (!handle) handle = requestAnimationFrame(run);
}

/** Ends a rest, because something has changed. */
export function wake() {
    still = 0;
    next();
}

for (const kind of ["pointermove", "pointerdown", "keydown", "wheel", "scroll", "click"]) globalThis.addEventListener?.(kind, () => rest && wake(), { capture: true, passive: true });

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
