/** The state of the page: in use, in the background, closed. */

/**
 * @param {(state: "background"|"resumed"|"terminated", reason: string, isLast: boolean) => void} report `isLast` if the page may end or
 *   stop with this event
 * @returns {void}
 */
export function followLifeCycle(report) {
    let isAway = document.hidden;
    const away = (reason, isLast = false) => {
        if (isAway) return;
        isAway = true;
        report("background", reason, isLast);
    };
    const back = () => {
        if (!isAway || document.hidden) return;
        isAway = false;
        report("resumed", "visible", false);
    };
    document.addEventListener("visibilitychange", () => (document.hidden ? away("hidden") : back()));
    document.addEventListener("freeze", () => away("frozen", true));
    document.addEventListener("resume", back);
    window.addEventListener("pagehide", ({ persisted }) => {
        if (persisted) return away("hidden", true);
        isAway = true;
        report("terminated", "closed", true);
    });
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
