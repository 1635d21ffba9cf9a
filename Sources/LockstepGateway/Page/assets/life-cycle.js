/** The state of the page: in use, in the background, closed. */

/**
 * @param {(state: "background"|"resumed"|"terminated", reason: string) => void} report
 * @returns {void}
 */
export function followLifeCycle(report) {
    let isAway = document.hidden;
    const away = (reason) => {
        if (isAway) return;
        isAway = true;
        report("background", reason);
    };
    const back = () => {
        if (!isAway || document.hidden) return;
        isAway = false;
        report("resumed", "visible");
    };
    document.addEventListener("visibilitychange", () => (document.hidden ? away("hidden") : back()));
    document.addEventListener("freeze", () => away("frozen"));
    document.addEventListener("resume", back);
    window.addEventListener("pagehide", ({ persisted }) => {
        if (persisted) return away("hidden");
        isAway = true;
        report("terminated", "closed");
    });
    window.addEventListener("pageshow", ({ persisted }) => persisted && back());
}

/** Keeps the screen on while the page is visible. Browsers end it whenever the page is hidden. */
export class AwakeScreen {
    #lock = null;

    get isOn() {
        return this.#lock !== null && !this.#lock.released;
    }

    async start() {
        this.stop();
        this.#lock = await navigator.wakeLock?.request("screen").catch(() => null) ?? null;
    }

    stop() {
        this.#lock?.release().catch(() => {});
        this.#lock = null;
    }
}
