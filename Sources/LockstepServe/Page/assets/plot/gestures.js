/** Zooming, panning and selecting in a chart with pointer, wheel, fingers and keys. A mouse selects; with Shift, it pans. */

export class ChartGestures {
    /** @type {Map<number, number>} pointers that are down, with their x */
    #pointers = new Map();
    #moved = false;
    /** Where a selection began. @type {number|null} */
    #start = null;

    /** @param {import("./chart.js").Chart} chart @param {import("./panel.js").PlotPanel} panel */
    constructor(chart, panel) {
        this.chart = chart;
        this.panel = panel;
        const { canvas } = chart;
        canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
        canvas.addEventListener("pointerdown", (event) => this.#down(event));
        canvas.addEventListener("pointermove", (event) => this.#move(event));
        canvas.addEventListener("pointerup", (event) => this.#up(event));
        canvas.addEventListener("pointercancel", (event) => this.#up(event));
        canvas.addEventListener("dblclick", (event) => panel.zoom(0.4, this.#timeAt(event.offsetX)));
        canvas.addEventListener("keydown", (event) => this.#key(event));
    }

    /** @param {number} x in the canvas */
    #timeAt(x) {
        const { area } = this.chart;
        const view = this.chart.shownView ?? this.panel.current();
        return view.from + ((x - area.x) / area.width) * (view.to - view.from);
    }

    /** A wheel alone scrolls the page; with Ctrl, or on a touchpad with two fingers, it zooms. @param {WheelEvent} event */
    #wheel(event) {
        if (event.ctrlKey || event.metaKey) {
            event.preventDefault();
            this.panel.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), this.#timeAt(event.offsetX));
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
            event.preventDefault();
            this.panel.pan((event.shiftKey ? event.deltaY || event.deltaX : event.deltaX) / this.chart.area.width);
        }
    }

    /** @param {PointerEvent} event */
    #down(event) {
        if (event.button !== 0) return;
        this.#pointers.set(event.pointerId, event.offsetX);
        this.#moved = false;
        this.#start = event.pointerType === "mouse" && !event.shiftKey ? this.#timeAt(event.offsetX) : null;
        this.chart.canvas.setPointerCapture(event.pointerId);
    }

    /** @param {PointerEvent} event */
    #move(event) {
        const before = this.#pointers.get(event.pointerId);
        if (before === undefined) {
            if (event.pointerType === "mouse") this.panel.setCursor(event.offsetX >= this.chart.area.x ? this.#timeAt(event.offsetX) : null);
            return;
        }
        const by = event.offsetX - before;
        if (!this.#moved && Math.abs(by) < 4) return;
        this.#moved = true;
        if (this.#start !== null) {
            this.panel.select(this.#start, this.#timeAt(event.offsetX));
            return;
        }
        this.chart.canvas.classList.add("dragging");
        const spread = this.#spread();
        this.#pointers.set(event.pointerId, event.offsetX);
        if (this.#pointers.size === 2) {
            const next = this.#spread();
            if (next > 10 && spread > 10) this.panel.zoom(spread / next, this.#timeAt(this.#middle()));
        } else {
            this.panel.pan(-by / this.chart.area.width);
            this.panel.setCursor(null);
        }
    }

    /** @param {PointerEvent} event */
    #up(event) {
        if (!this.#pointers.delete(event.pointerId)) return;
        this.chart.canvas.classList.remove("dragging");
        if (!this.#moved) this.panel.mark(event.offsetX >= this.chart.area.x ? this.#timeAt(event.offsetX) : null);
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const acts = {
            ArrowLeft: () => this.panel.pan(-0.15),
            ArrowRight: () => this.panel.pan(0.15),
            "+": () => this.panel.zoom(0.6),
            "=": () => this.panel.zoom(0.6),
            "-": () => this.panel.zoom(1.7),
            ",": () => this.panel.moveMark(-1),
            ".": () => this.panel.moveMark(1),
            End: () => this.panel.goLive(),
            " ": () => this.panel.togglePlayback(),
            Escape: () => this.panel.clear(),
            Enter: () => this.panel.zoomToSelection(),
        };
        const by = event.shiftKey ? { ArrowLeft: -1, ArrowRight: 1 }[event.key] : undefined;
        if (by) {
            event.preventDefault();
            this.panel.extendSelection(by);
            return;
        }
        if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        acts[event.key]();
    }

    #spread() {
        const [a, b] = [...this.#pointers.values()];
        return b === undefined ? 0 : Math.abs(a - b);
    }

    #middle() {
        const [a, b] = [...this.#pointers.values()];
        return (a + b) / 2;
    }
}
