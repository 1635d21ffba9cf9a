/** A service worker that keeps the files of the page, so that a reload works without a connection. */

const CACHE = "lockstep-join-1";
/** A network that does not answer within this time counts as none. */
const LIMIT = 4000;

self.addEventListener("install", (event) => {
    event.waitUntil(self.skipWaiting());
});

self.addEventListener("activate", (event) => {
    event.waitUntil(self.clients.claim());
});

self.addEventListener("message", (event) => {
    if (Array.isArray(event.data?.keep)) event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(event.data.keep)));
});

self.addEventListener("fetch", (event) => {
    const { pathname, origin } = new URL(event.request.url);
    const isFile = /^\/join\/?$/.test(pathname) || pathname.startsWith("/join/assets/");
    if (event.request.method !== "GET" || origin !== self.location.origin || !isFile) return;
    event.respondWith(fromNetwork(event.request).catch(() => fromCache(event.request)));
});

async function fromNetwork(request) {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("no answer")), LIMIT));
    const response = await Promise.race([fetch(request), late]);
    if (!response.ok) throw new Error(`status ${response.status}`);
    const cache = await caches.open(CACHE);
    await cache.put(request, response.clone());
    return response;
}

async function fromCache(request) {
    return (await caches.match(request, { ignoreSearch: true, ignoreVary: true })) ?? Response.error();
}
