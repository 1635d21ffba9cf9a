/** The same tests run with `node --test` and in a browser, where the results are in `globalThis.results`. */

const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);

/** @type {{name: string, error: string|null}[]} */
const results = [];

async function browserTest(name, body) {
    const result = { name, error: "it has not ended" };
    results.push(result);
    try {
        await body();
        result.error = null;
    } catch (error) {
        result.error = String(error?.stack ?? error);
    }
}

/** Runs a test. A file waits for those that are asynchronous. */
export const test = isNode ? (await import("node:test")).test : browserTest;
/** Runs a test that replaces the document or the address of the page, which no browser permits. */
export const nodeTest = isNode ? test : () => {};
if (!isNode) globalThis.results = results;

/** Fails unless both have the same JSON. */
export function equal(actual, expected) {
    const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (a !== b) throw new Error(`got ${a}, expected ${b}`);
}

/** Fails unless both numbers are within a tolerance. */
export function near(actual, expected, tolerance = 1e-9) {
    if (!(Math.abs(actual - expected) <= tolerance)) throw new Error(`got ${actual}, expected ${expected} ± ${tolerance}`);
}

/** Fails unless the value is true. */
export function check(value, text = "the condition does not hold") {
    if (!value) throw new Error(text);
}
