/** Tilt by the arrow keys, for everyone without a device at hand. */

const STEEP = 0.42;
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** @param {HTMLElement} element that takes the keys */
export function keyboardTilt(element) {
    /** @type {Set<string>} */
    const down = new Set();
    function press(event) {
        if (!KEYS[event.key]) return;
        event.preventDefault();
        down.add(event.key);
    }
    function lift(event) {
        down.delete(event.key);
    }
    function clear() {
        down.clear();
    }
    element.addEventListener("keydown", press);
    window.addEventListener("keyup", lift);
    window.addEventListener("blur", clear);
    return {
        /** @returns {[number, number, number]} */
        gravity() {
            let x = 0;
            let y = 0;
            for (const key of down) {
                x += KEYS[key][0] * STEEP;
                y += KEYS[key][1] * STEEP;
            }
            return [x, y, -Math.sqrt(Math.max(0, 1 - x * x - y * y))];
        },
        close() {
            window.removeEventListener("keyup", lift);
            window.removeEventListener("blur", clear);
        },
    };
}
