/** Bouncer: a ball game that is played by tilting a device. It pauses and resumes with the device's state. */

import { now } from "../core/clock.js";
import { fitCanvas } from "../core/canvas.js";
import { h, icon, setText } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { onFrame } from "../core/frames.js";
import { LiveSamples } from "../core/live.js";
import { routeTo } from "../core/router.js";
import { announce } from "../core/shell.js";
import { store, stored } from "../core/settings.js";
import { stateBadge } from "../core/states.js";
import { onThemeChange } from "../core/theme.js";
import { startGame, stepGame } from "../pure/bounce.js";
import { isActive } from "../pure/problems.js";
import { reasonText } from "../pure/timeline.js";
import { gravityNow } from "../device/leveler.js";
import { keyboardTilt } from "./keyboard.js";
import { arenaPainter } from "./painter.js";

const KEYBOARD = "keyboard";
const collator = new Intl.Collator("en", { numeric: true });

/** @param {HTMLElement} main @param {{group?: string, device?: string}} route */
export function show(main, { group, device }) {
    const player = group && device ? `${group}/${device}` : KEYBOARD;
    const live = new LiveSamples();
    const scores = stored("bouncer.scores", {});
    const mine = scores[player] ?? { score: 0, best: 0 };
    let game = startGame(Math.floor(now() / 1e6) | 0, mine.score);
    const picker = h("select", { "aria-label": "Device", onchange: () => choose(picker.value) });
    const badge = stateBadge();
    const score = h("output", { class: "score num", "aria-label": "Score" }, String(game.score));
    const best = h("span", { class: "num" }, String(mine.best));
    const canvas = h("canvas", { class: "arena", tabIndex: 0, role: "img", "aria-label": "Ball game" });
    const pauseText = h("p", { class: "pause-text" });
    const pauseTitle = h("p", { class: "pause-title" });
    const pause = h("div", { class: "pause" }, icon("pause", "pause-icon"), pauseTitle, pauseText);
    const own = h("button", { class: "button", type: "button", onclick: () => {
        isPausedByHand = !isPausedByHand;
        update();
    } });
    const tilt = h("span", { class: "num" }, "–");
    main.append(h("div", { class: "view view-bouncer" },
        h("section", { class: "arena-frame", "aria-label": "Game" }, canvas, pause),
        h("aside", { class: "bouncer-side" },
            h("h1", null, "Bouncer"),
            h("p", { class: "muted" }, "A game to try out live samples and states: tilt the device to roll the ball. Collect stars; bumpers throw it back."),
            h("label", { class: "bouncer-device" }, h("span", { class: "muted" }, "Played with"), h("span", { class: "select" }, picker, icon("chevron"))),
            h("div", { class: "score-box" }, h("span", { class: "muted" }, "Score"), score, h("span", { class: "muted" }, "Best ", best)),
            h("dl", { class: "facts" }, h("dt", null, "State"), h("dd", null, badge.element), h("dt", null, "Tilt"), h("dd", null, tilt)),
            h("div", { class: "row" }, own, h("button", { class: "button", type: "button", onclick: restart }, "New game")),
            player !== KEYBOARD && h("a", { href: routeTo("device", group, device) }, `Show ${device}`))));
    const fitted = fitCanvas(canvas, () => {});
    const painter = arenaPainter();
    const stopTheme = onThemeChange(() => painter.readColours());
    const keys = keyboardTilt(canvas);
    /** @type {string|null} */
    let stream = null;
    let release = () => {};
    let isPausedByHand = false;
    let isRunning = false;
    let before = 0;
    let options = "";
    let wasRunning = null;

    function choose(value) {
        location.hash = value === KEYBOARD ? "#/bouncer" : routeTo("bouncer", ...value.split("/"));
    }

    function restart() {
        keep();
        game = startGame(Math.floor(now() / 1e3) | 0);
        keep();
        canvas.focus();
    }

    /** Keeps the score over reloads. */
    function keep() {
        mine.score = game.score;
        mine.best = Math.max(mine.best, game.score);
        store("bouncer.scores", { ...stored("bouncer.scores", {}), [player]: mine });
        setText(score, String(game.score));
        setText(best, String(mine.best));
    }

    function update() {
        const entries = [...fleet.entries.values()].map((entry) => entry.device).filter((entry) => entry.streams?.some((name) => name === "motion/device" || name === "motion/accelerometer"));
        const names = entries.map((entry) => `${entry.group}/${entry.device}`).sort(collator.compare);
        if (player !== KEYBOARD && !names.includes(player)) names.unshift(player);
        if (names.join() !== options) {
            options = names.join();
            picker.replaceChildren(h("option", { value: KEYBOARD, selected: player === KEYBOARD }, "Arrow keys"), ...names.map((name) => h("option", { value: name, selected: name === player }, name)));
        }
        const current = group && device ? fleet.get(group, device) : null;
        badge.update(player === KEYBOARD ? "active" : (current?.state ?? null));
        const next = current?.streams?.includes("motion/device") ? "motion/device" : current?.streams?.includes("motion/accelerometer") ? "motion/accelerometer" : null;
        if (next && next !== stream) {
            release();
            stream = next;
            release = live.want(player, next);
        }
        const reason = pauseReason(current);
        isRunning = reason === null;
        pause.hidden = isRunning;
        if (reason) {
            setText(pauseTitle, reason.title);
            setText(pauseText, reason.text);
        }
        own.replaceChildren(icon(isPausedByHand ? "play" : "pause"), isPausedByHand ? "Continue" : "Pause");
        if (wasRunning !== null && wasRunning !== isRunning) announce(isRunning ? "Game continues" : `Paused: ${reason?.title}`);
        wasRunning = isRunning;
        if (!isRunning) keep();
    }

    /** Why the game is paused, or null. */
    function pauseReason(current) {
        if (isPausedByHand) return { title: "Paused", text: "Continue when you are ready." };
        if (player === KEYBOARD) return null;
        if (!current) return fleet.hasLoaded ? { title: "Unknown device", text: "Choose another device." } : { title: "Connecting", text: "" };
        if (!isActive(current)) return { title: `The device is ${current.state ?? "in an unknown state"}`, text: `${current.reason ? `Reason: ${reasonText(current.reason)}. ` : ""}The game continues when the device is active again.` };
        if (!stream) return { title: "No motion sensor", text: "This device has no accelerometer. Choose another one, or play with the arrow keys." };
        if (!gravity()) return { title: "Waiting for samples", text: "The game starts with the first live samples." };
        return null;
    }

    function gravity() {
        return player === KEYBOARD ? keys.gravity() : stream ? gravityNow(live.get(player, stream), live, stream) : null;
    }

    const stop = onFrame((time) => {
        const seconds = Math.min(0.25, (time - before) / 1000);
        before = time;
        const pull = gravity();
        if (isRunning && pull) {
            const result = stepGame(game, pull, seconds);
            const hasScored = result.game.score !== game.score;
            game = result.game;
            painter.add(result.events, time);
            if (hasScored) keep();
            setText(tilt, `${tiltText(pull[0])} / ${tiltText(pull[1])}`);
        }
        painter.paint(fitted, game, pull, time, isRunning);
    });

    fleet.addEventListener("change", update);
    fleet.addEventListener("tick", update);
    update();
    return { title: "Bouncer", leave() {
        keep();
        stop();
        release();
        live.close();
        keys.close();
        fitted.stop();
        stopTheme();
        fleet.removeEventListener("change", update);
        fleet.removeEventListener("tick", update);
    } };
}

/** The angle that a part of gravity corresponds to. */
function tiltText(part) {
    const degrees = Math.round((Math.asin(Math.max(-1, Math.min(1, part))) * 180) / Math.PI);
    return `${degrees < 0 ? "−" : ""}${Math.abs(degrees)}°`;
}
