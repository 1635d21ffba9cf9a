/** Batches in the browser's database until the gateway has acknowledged them. */

const NAME = "lockstep-join";

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function result(request) {
    return new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });
}

/** @param {IDBTransaction} transaction @returns {Promise<void>} */
function completion(transaction) {
    return new Promise((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = transaction.onerror = () => reject(transaction.error ?? new DOMException("aborted", "AbortError"));
    });
}

/** @returns {Promise<IDBDatabase>} */
function openDatabase() {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
        request.result.createObjectStore("batches", { autoIncrement: true });
        request.result.createObjectStore("refused", { autoIncrement: true });
        request.result.createObjectStore("settings");
    };
    return result(request);
}

/** @returns {Promise<Queue>} */
export async function openQueue() {
    return new Queue(await openDatabase());
}

/** The delay before the database is opened again after a failure. */
const REOPEN_DELAY = 2000;

/** @typedef {{group: string, device: string, epoch: string, seq: number, made: number, state: string, reason?: string, streams: {stream: string, samples: any[][]}[]}} Batch */

/**
 * The oldest batch, its key and its database. A database that was deleted and opened again may have the same key for another
 * batch, which was not sent yet.
 * @typedef {{key: IDBValidKey, batch: Batch, database: IDBDatabase}} Head
 */

/** Sends `outdated` if a newer page has changed the database, so that this one has to be reloaded. */
export class Queue extends EventTarget {
    #database;

    /** @param {IDBDatabase} database */
    constructor(database) {
        super();
        this.#use(database);
    }

    /** @param {IDBDatabase} database */
    #use(database) {
        this.#database = database;
        // The browser has closed it, for example because the person deleted the data of the site.
        database.onclose = () => this.#reopen();
        // Another tab deletes the database or gives it a new version, which waits until all others are closed.
        database.onversionchange = () => {
            database.close();
            this.#reopen();
        };
    }

    /** Until the database is open again, all calls fail; the recorder keeps the samples in memory meanwhile. */
    #reopen() {
        openDatabase().then((database) => this.#use(database), (error) => {
            if (error?.name === "VersionError") this.dispatchEvent(new Event("outdated"));
            else setTimeout(() => this.#reopen(), REOPEN_DELAY);
        });
    }

    /** Resolves when the batch is on disk. The write is issued at once, so that it also survives the end of the page. @param {Batch} batch */
    add(batch) {
        const transaction = this.#database.transaction("batches", "readwrite", { durability: "strict" });
        const done = completion(transaction);
        transaction.objectStore("batches").add(batch);
        transaction.commit?.();
        return done;
    }

    /** The oldest batch, or null. @returns {Promise<Head|null>} */
    async first() {
        const database = this.#database;
        const cursor = await result(database.transaction("batches").objectStore("batches").openCursor());
        return cursor && { key: cursor.key, batch: cursor.value, database };
    }

    /** Removes a batch that is stored, unless the database was opened again since. @param {Head} head */
    async remove({ key, database }) {
        if (database !== this.#database) return;
        const transaction = database.transaction("batches", "readwrite", { durability: "strict" });
        transaction.objectStore("batches").delete(key);
        await completion(transaction);
    }

    /** Moves a batch out of the way that the gateway will never store, unless the database was opened again since. @param {Head} head @param {string} detail */
    async refuse({ key, batch, database }, detail) {
        if (database !== this.#database) return;
        const transaction = database.transaction(["batches", "refused"], "readwrite", { durability: "strict" });
        transaction.objectStore("refused").add({ batch, detail, at: Date.now() });
        transaction.objectStore("batches").delete(key);
        await completion(transaction);
    }

    /** Puts all refused batches at the end of the queue, with new numbers: the gateway may have passed theirs. @param {string} epoch */
    async retryRefused(epoch) {
        const transaction = this.#database.transaction(["batches", "refused"], "readwrite", { durability: "strict" });
        const refused = transaction.objectStore("refused");
        const all = await result(refused.getAll());
        all.forEach(({ batch }, i) => transaction.objectStore("batches").add({ ...batch, epoch, seq: i + 1 }));
        refused.clear();
        await completion(transaction);
    }

    /** Deletes all batches of a store. @param {"batches"|"refused"} store */
    async clear(store) {
        const transaction = this.#database.transaction(store, "readwrite");
        transaction.objectStore(store).clear();
        await completion(transaction);
    }

    /** @returns {Promise<{waiting: number, oldest: number|null, refused: number, detail: string|null}>} */
    async summary() {
        const transaction = this.#database.transaction(["batches", "refused"]);
        const [waiting, first, refused, last] = await Promise.all([
            result(transaction.objectStore("batches").count()), result(transaction.objectStore("batches").openCursor()),
            result(transaction.objectStore("refused").count()), result(transaction.objectStore("refused").openCursor(null, "prev")),
        ]);
        return { waiting, oldest: first?.value.made ?? null, refused, detail: last?.value.detail ?? null };
    }

    /** @param {string} name @returns {Promise<any>} */
    setting(name) {
        return result(this.#database.transaction("settings").objectStore("settings").get(name));
    }

    /** @param {Record<string, any>} values */
    async set(values) {
        const transaction = this.#database.transaction("settings", "readwrite");
        for (const [name, value] of Object.entries(values)) transaction.objectStore("settings").put(value, name);
        await completion(transaction);
    }
}
