/** The page that measures with the sensors of the phone that opens it. */

import { AwakeScreen, followLifeCycle } from "./life-cycle.js";
import { EventClock } from "./pure/event-clock.js";
import { randomID, settingsOf } from "./pure/identity.js";
import { openQueue } from "./queue.js";
import { Recorder } from "./recorder.js";
import { Sender } from "./sender.js";
import { BatterySensor } from "./sensors/battery.js";
import { LocationSensor } from "./sensors/location.js";
import { MotionSensor, permitMotion } from "./sensors/motion.js";
import { explainInsecure, notice, View } from "./view.js";

/** Resolves when no other tab of this browser measures. */
function becomeOnlyTab() {
    if (!navigator.locks) return Promise.resolve();
    return new Promise((resolve) => {
        const timer = setTimeout(() => notice("This page is already measuring in another tab. Close that tab to continue here."), 700);
        navigator.locks.request("lockstep-join", () => {
            clearTimeout(timer);
            notice(null);
            resolve(undefined);
            // A page that the browser keeps for its back button must not keep others from measuring. It starts anew when shown again.
            return new Promise((release) => {
                window.addEventListener("pagehide", release);
                window.addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
            });
        });
    });
}

/** Reads the settings of the address, and removes them from it: it may be seen or shared. */
function takeFragment() {
    const settings = settingsOf(location.hash);
    if (location.hash) history.replaceState(null, "", location.pathname + location.search);
    return settings;
}

async function start() {
    const given = takeFragment();
    // A link that is opened in this tab changes only the part after #: the page starts anew with it.
    window.addEventListener("hashchange", () => location.hash && location.reload());
    if (!isSecureContext) return explainInsecure();
    await becomeOnlyTab();
    const queue = await openQueue();
    queue.addEventListener("outdated", () => notice("This page has been updated in another tab. Reload it to continue.", "bad"));
    const stored = (await queue.setting("join")) ?? {};
    // A link with other settings, perhaps of a stranger, neither measures nor sends before a tap.
    const isChanged = Object.keys(given).some((name) => name in stored && given[name] !== stored[name]);
    const settings = { device: `phone-${randomID(3)}`, group: "phones", token: "", isRunning: false, ...stored, ...given };
    if (isChanged) settings.isRunning = false;
    await queue.set({ join: settings });
    const save = (changes) => queue.set({ join: Object.assign(settings, changes) });

    const sender = new Sender(queue, () => settings);
    const recorder = new Recorder(queue, () => sender.wake());
    const clock = new EventClock(Date.now(), performance.now());
    const sensors = { motion: new MotionSensor(recorder.add, clock), location: new LocationSensor(recorder.add, clock), battery: new BatterySensor(recorder.add, clock) };
    const screen = new AwakeScreen();
    const view = new View({ settings, queue, sender, recorder, sensors, screen });

    /** @param {Promise<boolean>} permission */
    async function begin(permission) {
        clock.check(Date.now(), performance.now());
        recorder.start({ group: settings.group, device: settings.device });
        sensors.location.start();
        sensors.battery.start();
        screen.start();
        navigator.storage?.persist?.().catch(() => {});
        view.update();
        if (await permission) sensors.motion.start();
        else sensors.motion.status = "denied";
        view.update();
    }

    view.onstart = (changes) => {
        // Permission is asked for at once: a browser grants it only while it handles a tap.
        const permission = permitMotion();
        save({ ...changes, isRunning: true });
        sender.retryNow();
        begin(permission);
    };
    view.onstop = () => {
        for (const sensor of Object.values(sensors)) sensor.stop();
        recorder.stop();
        screen.stop();
        save({ isRunning: false });
    };
    view.ontoken = (token) => save({ token }).then(() => sender.retryNow());

    followLifeCycle((state, reason, isLast) => {
        if (!recorder.isRunning) return;
        if (state === "resumed") {
            if (clock.check(Date.now(), performance.now())) recorder.restartTimes();
            screen.start();
            sender.retryNow();
        }
        recorder.report(state, reason, isLast ? (batch) => sender.sendLast(batch) : null);
    });
    setInterval(() => {
        if (clock.check(Date.now(), performance.now())) recorder.restartTimes();
    }, 5000);

    if (!isChanged) sender.wake();
    // After a reload the phone goes on, unless the browser wants a tap first.
    if (settings.isRunning && (await permitMotion())) begin(Promise.resolve(true));
    view.update();
    keepOffline();
}

/** Keeps the files of the page for reloads without a connection. */
async function keepOffline() {
    try {
        const registration = await navigator.serviceWorker.register("/join/assets/offline.js", { scope: "/join" });
        await navigator.serviceWorker.ready;
        const files = performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname).filter((path) => path.startsWith("/join/assets/"));
        registration.active?.postMessage({ keep: [...new Set([location.pathname, ...files])] });
    } catch {
        // Not with certificates that the browser does not trust. Measuring works without it.
    }
}

start().catch((error) => notice(`The page cannot start: ${error?.message ?? error}. Some browsers have no database in private windows: use a normal window.`, "bad"));
