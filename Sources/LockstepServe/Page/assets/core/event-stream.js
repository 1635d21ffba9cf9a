/** A stream of server-sent events that reconnects with exponential backoff and pauses while the page is hidden. */

const FIRST_DELAY = 250;
/** A server that is back is noticed within two seconds. */
const LONGEST_DELAY = 1_600;
/** A connection that is not answered, for example because a proxy holds it, is given up. */
const ANSWER = 3_000;
/** The server sends something at least every 15 s. */
const SILENCE = 40_000;

/**
 * @param {string} url
 * @param {Record<string, (data: any, id: string) => void>} handlers one for each kind of event
 * @param {(status: "connecting"|"open"|"lost") => void} [onstatus]
 * @param {{whileHidden?: boolean}} [options] whether the stream goes on while the page is hidden
 * @returns {{close: () => void}}
 */
export function openEvents(url, handlers, onstatus = () => {}, { whileHidden = false } = {}) {
    /** @type {EventSource|null} */
    let source = null;
    let delay = FIRST_DELAY;
    let timer = 0;
    let watchdog = 0;
    let isClosed = false;

    function connect() {
        clearTimeout(timer);
        if (isClosed || (document.hidden && !whileHidden)) return;
        onstatus("connecting");
        source = new EventSource(url);
        watch(ANSWER);
        source.onopen = () => {
            delay = FIRST_DELAY;
            onstatus("open");
            watch(SILENCE);
        };
        source.onerror = retry;
        for (const [name, handler] of Object.entries(handlers)) {
            source.addEventListener(name, (event) => {
                watch(SILENCE);
                handler(JSON.parse(event.data), event.lastEventId);
            });
        }
        source.addEventListener("end", retry);
    }

    /** @param {number} limit */
    function watch(limit) {
        clearTimeout(watchdog);
        watchdog = setTimeout(retry, limit);
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
        if (document.hidden && !whileHidden) stop();
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
