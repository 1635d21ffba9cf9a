/** Building and changing the document. */

/**
 * Returns a new element. Properties that begin with `on` are listeners, `class` and `aria-…` are attributes, `data` is an
 * object of data attributes, `style` an object of properties.
 * @param {string} tag @param {Record<string, any>|null} [props] @param {...(Node|string|null|undefined|false)} children
 * @returns {any}
 */
export function h(tag, props, ...children) {
    const element = document.createElement(tag);
    applyProps(element, props ?? {});
    element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

/** @param {HTMLElement} element @param {Record<string, any>} props */
function applyProps(element, props) {
    for (const [name, value] of Object.entries(props)) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "data") Object.assign(element.dataset, value);
        else if (name === "style") Object.assign(element.style, value);
        else if (name in element && !name.includes("-") && name !== "list" && name !== "role") element[name] = value;
        else element.setAttribute(name === "className" ? "class" : name, value === true ? "" : String(value));
    }
}

/** Of the same version as this file. */
const ICONS = new URL("../icons.svg", import.meta.url).href;

/** Returns an icon of the sprite, hidden from screen readers. @param {string} name */
export function icon(name, className = "icon") {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", className);
    svg.setAttribute("aria-hidden", "true");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    use.setAttribute("href", `${ICONS}#${name}`);
    svg.append(use);
    return svg;
}

/** Changes the text of an element only if it is different, which costs no layout otherwise. @param {Element} element @param {string} text */
export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

/** @param {Element} element @param {string} name @param {string|null} value null removes the attribute */
export function setAttribute(element, name, value) {
    if (value === null) element.removeAttribute(name);
    else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/**
 * A group of mutually exclusive buttons: arrow keys move between them. They also choose, unless a choice has effects beyond
 * the page (`isDeliberate`): then only Enter, the space bar and a click do.
 */
export function segmented({ label, options, value, onchange, className = "", isDeliberate = false }) {
    const buttons = options.map(({ value: key, text, title }) =>
        h("button", { type: "button", role: "radio", title: title ?? "", data: { value: key }, onclick: () => choose(key) }, text),
    );
    const element = h("div", { class: `segmented ${className}`, role: "radiogroup", "aria-label": label, onkeydown: move }, ...buttons);
    function set(key, notify = false) {
        for (const button of buttons) {
            const isChosen = button.dataset.value === key;
            button.setAttribute("aria-checked", String(isChosen));
            button.tabIndex = isChosen || (key === null && button === buttons[0]) ? 0 : -1;
        }
        if (notify) onchange(key);
    }
    function choose(key) {
        if (isDeliberate) onchange(key);
        else set(key, true);
    }
    function move(event) {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        const at = Math.max(0, buttons.indexOf(document.activeElement));
        const next = buttons[(at + by + buttons.length) % buttons.length];
        next.focus();
        if (!isDeliberate) set(next.dataset.value, true);
    }
    set(value);
    return { element, set };
}

/** A select with a label that only screen readers see. */
export function select({ label, options, value, onchange, className = "" }) {
    const element = h(
        "select",
        { "aria-label": label, onchange: () => onchange(element.value) },
        ...options.map((option) => h("option", { value: option.value, selected: option.value === value }, option.text)),
    );
    return h("span", { class: `select ${className}` }, element, icon("chevron"));
}

/** A designed state of an area without content. */
export function emptyState({ symbol, title, text, action }) {
    return h("div", { class: "empty" }, icon(symbol, "empty-icon"), h("p", { class: "empty-title" }, title),
        text && h("p", { class: "empty-text" }, text), action);
}

/** A card with a heading. */
export function card({ title, className = "", tools, id }) {
    const body = h("div", { class: "card-body" });
    const heading = h("h2", { class: "card-title", id: `${id}-title` }, title);
    const note = h("span", { class: "card-note" });
    const element = h("section", { class: `card ${className}`, id, "aria-labelledby": `${id}-title` },
        h("header", { class: "card-head" }, heading, note, h("span", { class: "spacer" }), tools), body);
    return { element, body, note, heading };
}

/** Changes the children of a list, and leaves those in place that stay. @param {HTMLElement} list @param {HTMLElement[]} wanted */
export function arrange(list, wanted) {
    const kept = new Set(wanted);
    for (const child of [...list.children]) if (!kept.has(/** @type {HTMLElement} */ (child))) child.remove();
    wanted.forEach((element, index) => {
        if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
    });
}
