/** A stream of server-sent events that reconnects with exponential backoff. It runs in a worker or in a window. */

const FIRST_DELAY = 250;
/** A server that is back is noticed within two seconds. */
const LONGEST_DELAY = 1_600;
/** A connection that is not answered, for example because a proxy holds it, is given up. */
const ANSWER = 3_000;
/** The server sends an event at least every 15 s: `keep-alive` if there is no other. */
const SILENCE = 40_000;

/**
 * @param {string} url
 * @param {Record<string, (data: any, id: string) => void>} handlers one for each kind of event
 * @param {(status: "connecting"|"open"|"lost") => void} onstatus
 * @returns {{close: () => void}}
 */
export function openEvents(url, handlers, onstatus) {
    /** @type {EventSource|null} */
    let source = null;
    let delay = FIRST_DELAY;
    let timer = 0;
    let watchdog = 0;
    let isClosed = false;
    const all = { "keep-alive": () => {}, ...handlers };

    function connect() {
        clearTimeout(timer);
        if (isClosed) return;
        onstatus("connecting");
        source = new EventSource(url);
        watch(ANSWER);
        source.onopen = () => {
            delay = FIRST_DELAY;
            onstatus("open");
            watch(SILENCE);
        };
        source.onerror = retry;
        for (const [name, handler] of Object.entries(all)) {
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

    function online() {
        delay = FIRST_DELAY;
        if (!source) connect();
    }

    self.addEventListener("online", online);
    connect();
    return {
        close() {
            isClosed = true;
            stop();
            self.removeEventListener("online", online);
        },
    };
}
