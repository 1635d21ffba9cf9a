/** A stream of server-sent events that reconnects with exponential backoff and pauses while the page is hidden. */

const FIRST_DELAY = 500;
const LONGEST_DELAY = 15_000;
/** The server sends something at least every 15 s. */
const SILENCE = 40_000;

/**
 * @param {string} url
 * @param {Record<string, (data: any, id: string) => void>} handlers one for each kind of event
 * @param {(status: "connecting"|"open"|"lost") => void} [onstatus]
 * @returns {{close: () => void}}
 */
export function openEvents(url, handlers, onstatus = () => {}) {
    /** @type {EventSource|null} */
    let source = null;
    let delay = FIRST_DELAY;
    let timer = 0;
    let watchdog = 0;
    let isClosed = false;

    function connect() {
        clearTimeout(timer);
        if (isClosed || document.hidden) return;
        onstatus("connecting");
        source = new EventSource(url);
        source.onopen = () => {
            delay = FIRST_DELAY;
            onstatus("open");
            watch();
        };
        source.onerror = retry;
        for (const [name, handler] of Object.entries(handlers)) {
            source.addEventListener(name, (event) => {
                watch();
                handler(JSON.parse(event.data), event.lastEventId);
            });
        }
        source.addEventListener("end", retry);
    }

    function watch() {
        clearTimeout(watchdog);
        watchdog = setTimeout(retry, SILENCE);
    }

    function stop() {
        clearTimeout(watchdog);
        clearTimeout(timer);
        source?.close();
        source = null;
    }

    function retry() {
        if (isClosed || !source) return;
        stop();
        onstatus("lost");
        timer = setTimeout(connect, delay * (0.75 + Math.random() / 2));
        delay = Math.min(LONGEST_DELAY, delay * 2);
    }

    // Browsers allow six connections to a server without HTTP/2: hidden tabs must not keep theirs.
    function visibility() {
        if (document.hidden) stop();
        else if (!source) {
            delay = FIRST_DELAY;
            connect();
        }
    }

    function online() {
        delay = FIRST_DELAY;
        if (!source) connect();
    }

    document.addEventListener("visibilitychange", visibility);
    window.addEventListener("online", online);
    connect();
    return {
        close() {
            isClosed = true;
            stop();
            document.removeEventListener("visibilitychange", visibility);
            window.removeEventListener("online", online);
        },
    };
}
