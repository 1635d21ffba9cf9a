/** A compass: its needle points to where the device is heading, with north at the top. */

const SVG = "http://www.w3.org/2000/svg";

export function compass() {
    const element = document.createElementNS(SVG, "svg");
    element.setAttribute("class", "compass");
    element.setAttribute("viewBox", "-12 -12 24 24");
    element.setAttribute("role", "img");
    const circle = document.createElementNS(SVG, "circle");
    circle.setAttribute("r", "10.5");
    const needle = document.createElementNS(SVG, "path");
    needle.setAttribute("d", "M0 -8.500 3.600 7 0 4.600 -3.600 7Z");
    needle.setAttribute("fill", "currentColor");
    element.append(circle, needle);
    return {
        element,
        /** @param {number|undefined|null} degrees */
        update(degrees) {
            const isKnown = typeof degrees === "number";
            needle.setAttribute("visibility", isKnown ? "visible" : "hidden");
            element.setAttribute("aria-label", isKnown ? `Heading ${Math.round(degrees)}°` : "Heading unknown");
            if (isKnown) needle.setAttribute("transform", `rotate(${degrees})`);
        },
    };
}
