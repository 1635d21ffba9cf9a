/** A level: the dial turns against the device's rotation, so that its horizon stays level. */

import { fitCanvas } from "../core/canvas.js";
import { card, emptyState, h, setText } from "../core/dom.js";
import { onFrame, watchVisible } from "../core/frames.js";
import { onThemeChange, prefersReducedMotion, token } from "../core/theme.js";
import { fixed } from "../pure/format.js";
import { levelOf } from "../pure/quaternion.js";
import { nearestTurn, springStep } from "../pure/spring.js";

/** Degrees within which the device counts as level. */
const LEVEL = 1;
/** Below this share of gravity in the plane of the face, the device lies flat and the dial becomes a bubble level. */
const FLAT = 0.45;
const SPRING = { frequency: 1.7, damping: 0.62 };

/**
 * @param {{group: string, device: string}} address @param {import("./moment.js").Moment} live
 * @param {string|null} stream that has gravity
 */
export function levelerCard({ group, device }, live, stream) {
    const { element, body, note } = card({ title: "Spirit level", id: "leveler", className: "card-leveler" });
    if (!stream) {
        body.append(emptyState({ symbol: "level", title: "No accelerometer", text: "The level needs the stream motion/accelerometer or motion/device." }));
        return { element };
    }
    const canvas = h("canvas", { class: "dial", role: "img", "aria-label": "Level" });
    const readout = h("p", { class: "dial-text num" });
    const wait = h("div", { class: "overlay" }, emptyState({ symbol: "level", title: "No samples", text: "The dial moves as soon as there are samples." }));
    body.append(canvas, readout, wait);
    const fitted = fitCanvas(canvas, () => {});
    const visible = watchVisible(element);
    const release = live.want(`${group}/${device}`, stream);
    let colours = readColours();
    const stopTheme = onThemeChange(() => { colours = readColours(); });
    const springs = { turn: { value: 0, velocity: 0 }, side: { value: 0, velocity: 0 }, forward: { value: 0, velocity: 0 } };
    let before = 0;
    let saidAt = 0;
    let smooth = null;

    const stop = onFrame((time) => {
        if (!visible.visible || fitted.width === 0) return;
        const seconds = Math.min(0.1, (time - before) / 1000);
        before = time;
        const gravity = gravityNow(live.get(`${group}/${device}`, stream), live, stream);
        wait.hidden = gravity !== null;
        if (!gravity) return;
        // Walking shakes an accelerometer: gravity is its slow part.
        const share = stream === "motion/device" ? 1 : 1 - Math.exp(-seconds / 0.25);
        smooth = smooth ? gravity.map((value, i) => smooth[i] + (value - smooth[i]) * share) : gravity;
        const level = levelOf(smooth);
        if (!level) return;
        follow(springs, level, seconds);
        paint(fitted, colours, springs, level);
        if (time - saidAt > 150) {
            saidAt = time;
            say(level);
        }
    });

    function say(level) {
        const isFlat = level.inPlane < FLAT;
        const off = isFlat ? Math.min(level.tilt, 180 - level.tilt) : offLevel(level.turn);
        setText(readout, isFlat ? `Inclination ${fixed(off, 1)}°, lying ${level.tilt < 90 ? "face up" : "face down"}` : `Turned ${fixed(level.turn, 1)}°, tilted ${fixed(level.tilt, 0)}° from flat`);
        setText(note, Math.abs(off) <= LEVEL ? "Level" : "");
        note.toggleAttribute("data-good", Math.abs(off) <= LEVEL);
        canvas.setAttribute("aria-label", `Level: ${readout.textContent}`);
    }

    return { element, close() {
        stop();
        release();
        fitted.stop();
        visible.stop();
        stopTheme();
    } };
}

/** Gravity in the device frame at the time that is drawn. */
export function gravityNow(streamState, live, stream) {
    if (!streamState) return null;
    const values = streamState.ring.at(live.playheadOf(streamState), 3e6);
    if (!values) return null;
    const at = (name) => values[streamState.columns.indexOf(name)];
    const gravity = stream === "motion/device" ? [at("gx"), at("gy"), at("gz")] : [at("x"), at("y"), at("z")];
    return gravity.every(Number.isFinite) ? gravity : null;
}

/** Degrees to the nearest of the four positions in which an edge is level. @param {number} turn */
function offLevel(turn) {
    return turn - Math.round(turn / 90) * 90;
}

function follow(springs, level, seconds) {
    const spring = prefersReducedMotion() ? { frequency: 6, damping: 1 } : SPRING;
    if (level.inPlane > FLAT * 0.6) springs.turn = springStep(springs.turn, nearestTurn(springs.turn.value, -level.turn), seconds, spring);
    springs.side = springStep(springs.side, level.side, seconds, spring);
    springs.forward = springStep(springs.forward, level.forward, seconds, spring);
}

function readColours() {
    return Object.fromEntries(["text", "text-2", "text-3", "line", "line-strong", "accent", "accent-soft", "surface-2", "surface", "ok", "ok-soft", "font"].map((name) => [name, token(`--${name}`)]));
}

function paint({ context: c, width, height, scale }, colours, springs, level) {
    const radius = Math.min(width, height) / 2 - 4;
    const isFlat = level ? level.inPlane < FLAT : false;
    const off = !level ? 90 : isFlat ? Math.min(level.tilt, 180 - level.tilt) : offLevel(level.turn);
    const isLevel = Math.abs(off) <= LEVEL;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    c.translate(width / 2, height / 2);
    c.beginPath();
    c.arc(0, 0, radius, 0, 2 * Math.PI);
    c.fillStyle = colours["surface-2"];
    c.fill();
    c.save();
    c.rotate((springs.turn.value * Math.PI) / 180);
    if (!isFlat) paintHorizon(c, radius, isLevel ? colours["ok-soft"] : colours["accent-soft"], isLevel ? colours.ok : colours.accent);
    paintMarks(c, radius, colours, springs.turn.value, !isFlat);
    c.restore();
    paintPointer(c, radius, isLevel ? colours.ok : colours.text);
    if (isFlat) paintBubble(c, radius, colours, springs, isLevel);
    c.fillStyle = isLevel ? colours.ok : colours.text;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.font = `620 ${Math.round(radius * 0.27)}px ${colours.font}`;
    if (level && !isFlat) c.fillText(`${fixed(Math.abs(off) < 0.05 ? 0 : off, 1)}°`, 0, -radius * 0.2);
    if (level && isFlat) {
        c.font = `620 ${Math.round(radius * 0.2)}px ${colours.font}`;
        c.fillText(`${fixed(off, 1)}°`, 0, radius * 0.7);
    }
}

/** Ground below the horizon of the world. */
function paintHorizon(c, radius, fill, line) {
    const r = radius - 40;
    c.beginPath();
    c.arc(0, 0, r, 0, Math.PI);
    c.fillStyle = fill;
    c.fill();
    c.strokeStyle = line;
    c.lineWidth = 2;
    c.beginPath();
    c.moveTo(-r, 0);
    c.lineTo(r, 0);
    c.stroke();
}

function paintMarks(c, radius, colours, turn, hasNumbers) {
    for (let degrees = 0; degrees < 360; degrees += 5) {
        const isMain = degrees % 30 === 0;
        const length = degrees % 90 === 0 ? 15 : isMain ? 11 : degrees % 10 === 0 ? 7 : 4;
        c.save();
        c.rotate((degrees * Math.PI) / 180);
        c.strokeStyle = isMain ? colours.text : colours["text-3"];
        c.lineWidth = degrees % 90 === 0 ? 2.2 : 1;
        c.beginPath();
        c.moveTo(0, -radius + 2);
        c.lineTo(0, -radius + 2 + length);
        c.stroke();
        if (isMain && hasNumbers && radius > 70) {
            c.translate(0, -radius + 27);
            c.rotate((-(degrees + turn) * Math.PI) / 180);
            c.fillStyle = colours["text-2"];
            c.font = `500 10.5px ${colours.font}`;
            c.textAlign = "center";
            c.textBaseline = "middle";
            const shown = degrees > 180 ? degrees - 360 : degrees;
            c.fillText(fixed(shown), 0, 0);
        }
        c.restore();
    }
}

function paintPointer(c, radius, colour) {
    c.fillStyle = colour;
    c.beginPath();
    c.moveTo(0, -radius + 14);
    c.lineTo(-6, -radius - 1);
    c.lineTo(6, -radius - 1);
    c.fill();
}

/** A bubble rises to the higher side. */
function paintBubble(c, radius, colours, springs, isLevel) {
    const reach = radius * 0.52;
    const unit = reach / 20;
    c.strokeStyle = colours["line-strong"];
    c.lineWidth = 1;
    for (const ring of [5, 10, 20]) {
        c.beginPath();
        c.arc(0, 0, ring * unit, 0, 2 * Math.PI);
        c.stroke();
    }
    c.beginPath();
    c.moveTo(-reach, 0);
    c.lineTo(reach, 0);
    c.moveTo(0, -reach);
    c.lineTo(0, reach);
    c.stroke();
    let x = -springs.side.value;
    let y = springs.forward.value;
    const distance = Math.hypot(x, y);
    if (distance > 20) [x, y] = [(x / distance) * 20, (y / distance) * 20];
    c.beginPath();
    c.arc(x * unit, y * unit, radius * 0.1, 0, 2 * Math.PI);
    c.globalAlpha = 0.85;
    c.fillStyle = isLevel ? colours.ok : colours.accent;
    c.fill();
    c.globalAlpha = 1;
}
