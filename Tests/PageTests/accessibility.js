/** Finds elements that some people cannot use: without a name, with too little contrast, out of order, too small. */
(() => {
    const problems = [];
    const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !element.closest("[aria-hidden=true], [hidden]");
    const label = (element) => `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}.${[...element.classList].join(".")} "${(element.textContent ?? "").trim().slice(0, 30)}"`;

    function nameOf(element) {
        const by = element.getAttribute("aria-labelledby");
        if (by) return by.split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
        const own = element.getAttribute("aria-label") ?? "";
        if (own.trim()) return own.trim();
        // These are not named by their content.
        if (element.matches("[role=radiogroup], [role=group], [role=region], [role=img], [role=grid], dialog, nav, section, aside")) return "";
        if (element.labels?.length) return [...element.labels].map((part) => part.textContent).join(" ").trim();
        const text = [...element.childNodes].map((node) => node.nodeType === 3 ? node.data : node.nodeType === 1 && node.getAttribute("aria-hidden") !== "true" ? nameOf(node) : "").join(" ");
        return text.trim() || (element.getAttribute("title") ?? "").trim();
    }

    for (const element of document.querySelectorAll("button, a[href], input, select, textarea, summary, [role=button], [role=radiogroup], [role=group], [role=region], [role=img], [role=grid], dialog, nav, section, aside[aria-label]")) {
        if (isShown(element) && !nameOf(element)) problems.push(`no name: ${label(element)}`);
    }
    for (const image of document.images) if (!image.hasAttribute("alt")) problems.push(`no alternative text: ${image.src}`);

    // Colours: text against the nearest opaque background.
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    function rgba(text) {
        probe.clearRect(0, 0, 1, 1);
        probe.fillStyle = "#000";
        probe.fillStyle = text;
        probe.fillRect(0, 0, 1, 1);
        return [...probe.getImageData(0, 0, 1, 1).data].map((value, i) => (i === 3 ? value / 255 : value));
    }
    function backgroundOf(element) {
        const layers = [];
        for (let at = element; at; at = at.parentElement) {
            const style = getComputedStyle(at);
            if (style.backgroundImage !== "none") return null;
            const colour = rgba(style.backgroundColor);
            if (colour[3] > 0) layers.push(colour);
            if (colour[3] === 1) break;
        }
        return layers.reverse().reduce((below, [r, g, b, a]) => below.map((value, i) => value * (1 - a) + [r, g, b][i] * a), [255, 255, 255]);
    }
    function luminance(colour) {
        const [r, g, b] = colour.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    }
    const seen = new Set();
    for (const element of document.querySelectorAll("body *")) {
        if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) || !isShown(element)) continue;
        if (element.closest("button:disabled, option, .leaflet-control-scale, .visually-hidden, noscript")) continue;
        const style = getComputedStyle(element);
        const background = backgroundOf(element);
        if (!background) continue;
        const [r, g, b, a] = rgba(style.color);
        const text = background.map((value, i) => value * (1 - a) + [r, g, b][i] * a);
        const [light, dark] = [luminance(text), luminance(background)].sort((x, y) => y - x);
        const ratio = (light + 0.05) / (dark + 0.05);
        const size = parseFloat(style.fontSize);
        const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
        const key = `${style.color} ${background}`;
        if (ratio < least && !seen.has(key)) {
            seen.add(key);
            problems.push(`contrast ${ratio.toFixed(2)} < ${least}: ${label(element)} ${style.color} on rgb(${background.map(Math.round)})`);
        }
    }

    const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
    for (const id of new Set(ids.filter((value, i) => ids.indexOf(value) !== i))) problems.push(`id used twice: ${id}`);
    const landmarks = [...document.querySelectorAll("section, nav, aside, [role=region]")].filter(isShown).map((element) => `${element.tagName === "NAV" ? "navigation" : "region"} "${nameOf(element)}"`);
    for (const name of new Set(landmarks.filter((value, i) => landmarks.indexOf(value) !== i))) problems.push(`several parts have the name of the ${name}`);
    const levels = [...document.querySelectorAll("h1, h2, h3")].filter(isShown).map((heading) => Number(heading.tagName[1]));
    if (levels.filter((level) => level === 1).length !== 1) problems.push(`${levels.filter((level) => level === 1).length} main headings`);
    levels.forEach((level, i) => { if (i > 0 && level > levels[i - 1] + 1) problems.push(`heading of level ${level} after ${levels[i - 1]}`); });
    if (!document.documentElement.lang) problems.push("no language");
    for (const element of document.querySelectorAll("[tabindex]")) if (element.tabIndex > 0) problems.push(`tabindex ${element.tabIndex}: ${label(element)}`);
    if (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1) problems.push(`the page is ${document.documentElement.scrollWidth - document.documentElement.clientWidth} px wider than the window`);
    return problems;
})()
