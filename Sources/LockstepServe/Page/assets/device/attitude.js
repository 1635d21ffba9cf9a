/** The attitude: a solid that turns with the quaternion, with roll, pitch and yaw. */

import { fitCanvas } from "../core/canvas.js";
import { card, emptyState, h, setAttribute, setText } from "../core/dom.js";
import { onFrame, watchVisible } from "../core/frames.js";
import { onThemeChange, token } from "../core/theme.js";
import { fixed, UNKNOWN } from "../pure/format.js";
import { eulerAngles, normalized, rotate, slerp } from "../pure/quaternion.js";
import { project, slab, visibleFaces } from "../pure/solid.js";

const BODY = slab(1.24, 2.2, 0.22, 0.22);
const SCREEN = slab(1.08, 1.96, 0.222, 0.12)[0];
const FRAMES = { arbitrary: "arbitrary heading, may drift", arbitraryCorrected: "arbitrary heading", magneticNorth: "magnetic north", trueNorth: "true north" };

/**
 * @param {{group: string, device: string}} address @param {import("./moment.js").Moment} live @param {boolean} hasMotion
 * @param {{title: string, id: string}} [heading] of one of several
 */
export function attitudeCard({ group, device }, live, hasMotion, { title, id } = { title: "Attitude", id: "attitude" }) {
    const { element, body, note } = card({ title, id, className: "card-attitude" });
    if (!hasMotion) {
        body.append(emptyState({ symbol: "cube", title: "No device motion", text: "The attitude needs the stream motion/device: a device with accelerometer and gyroscope." }));
        return { element };
    }
    const canvas = h("canvas", { class: "solid", role: "img", "aria-label": "Attitude" });
    const angles = ["Roll", "Pitch", "Yaw"].map((label) => {
        const value = h("dd", { class: "num" }, UNKNOWN);
        return { value, element: h("div", null, h("dt", null, label), value) };
    });
    const wait = h("div", { class: "overlay" }, emptyState({ symbol: "cube", title: "No samples", text: "The model turns as soon as there are samples of the attitude." }));
    body.append(canvas, h("dl", { class: "angles" }, ...angles.map((angle) => angle.element)), wait);
    const fitted = fitCanvas(canvas, () => {});
    const visible = watchVisible(element);
    const release = live.want(`${group}/${device}`, "motion/device");
    let colours = readColours();
    const stopTheme = onThemeChange(() => { colours = readColours(); });
    let saidAt = 0;
    /** What is drawn: a moment that stands still is drawn once. */
    let drawn = "";

    const stop = onFrame((time) => {
        if (!visible.visible || fitted.width === 0) return false;
        const stream = live.get(`${group}/${device}`, "motion/device");
        const attitude = attitudeNow(stream, live);
        wait.hidden = attitude !== null;
        if (!attitude) return false;
        const shown = `${attitude} ${fitted.width} ${fitted.height} ${colours.line} ${colours.dark}`;
        const isDrawn = shown === drawn;
        drawn = shown;
        if (!isDrawn) paint(fitted, colours, attitude, stream.words.get("frame")?.value ?? "");
        if (time - saidAt < 120) return !isDrawn;
        saidAt = time;
        const { roll, pitch, yaw } = eulerAngles(attitude);
        [roll, pitch, yaw].forEach((value, i) => setText(angles[i].value, `${fixed(value, 1)}°`));
        setText(note, FRAMES[stream.words.get("frame")?.value] ?? "");
        setAttribute(canvas, "aria-label", `Attitude: roll ${fixed(roll)}°, pitch ${fixed(pitch)}°, yaw ${fixed(yaw)}°`);
        return !isDrawn;
    });

    return { element, close() {
        stop();
        release();
        fitted.stop();
        visible.stop();
        stopTheme();
    } };
}

/** The attitude at the time that is drawn, between two samples. */
function attitudeNow(stream, live) {
    if (!stream) return null;
    const { ring } = stream;
    const time = live.playheadOf(stream);
    const columns = ["qw", "qx", "qy", "qz"].map((name) => stream.columns.indexOf(name));
    if (columns.includes(-1)) return null;
    const at = (i) => normalized(columns.map((column) => ring.valueAt(i, column)));
    const next = ring.indexAt(time);
    if (next >= ring.end) return ring.newest !== null && time - ring.newest < 3e6 ? at(ring.end - 1) : null;
    if (next === ring.start) return at(next);
    const t0 = ring.timeAt(next - 1);
    const t1 = ring.timeAt(next);
    const [a, b] = [at(next - 1), at(next)];
    if (!a || !b) return b ?? a;
    return t1 - t0 > 1e6 ? a : slerp(a, b, (time - t0) / (t1 - t0));
}

function readColours() {
    return {
        ...Object.fromEntries(["line", "line-strong", "text-2", "text-3", "accent", "font", "surface-3"].map((name) => [name, token(`--${name}`)])),
        axes: [1, 2, 3].map((i) => token(`--axis-${i}`)),
        dark: document.documentElement.dataset.theme === "dark",
    };
}

function paint({ context: c, width, height, scale }, colours, attitude, frame) {
    const unit = Math.min(width, height * 1.2) / 4;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    c.translate(width / 2, height * 0.41);
    const at = (point) => {
        const { x, y } = project(point);
        return [x * unit, y * unit];
    };
    paintGround(c, at, colours, frame);
    const polygon = (points) => {
        c.beginPath();
        for (const { x, y } of points) c.lineTo(x * unit, y * unit);
        c.closePath();
    };
    const base = colours.dark ? 26 : 34;
    for (const face of visibleFaces(BODY, attitude)) {
        polygon(face.points);
        const light = face.kind === "side" ? base + 34 * face.brightness : face.kind === "front" ? base - 6 + 10 * face.brightness : base + 8 + 22 * face.brightness;
        c.fillStyle = `hsl(218 16% ${light}%)`;
        c.strokeStyle = c.fillStyle;
        c.lineWidth = 0.8;
        c.fill();
        c.stroke();
    }
    const screen = visibleFaces([SCREEN], attitude)[0];
    if (screen) {
        polygon(screen.points);
        c.fillStyle = `hsl(214 78% ${(colours.dark ? 42 : 48) + 18 * screen.brightness}%)`;
        c.fill();
        paintArrow(c, at, attitude);
    }
    paintAxes(c, at, attitude, colours);
}

/** The horizontal plane with its directions. */
function paintGround(c, at, colours, frame) {
    const radius = 1.62;
    const z = -0.95;
    for (const [r, colour] of [[radius, colours["line-strong"]], [radius * 0.55, colours.line]]) {
        c.beginPath();
        for (let a = 0; a <= 360; a += 6) c.lineTo(...at([r * Math.sin((a * Math.PI) / 180), r * Math.cos((a * Math.PI) / 180), z]));
        c.strokeStyle = colour;
        c.lineWidth = 1.2;
        c.stroke();
    }
    c.beginPath();
    for (const [a, b] of [[[-radius, 0, z], [radius, 0, z]], [[0, -radius, z], [0, radius, z]]]) {
        c.moveTo(...at(a));
        c.lineTo(...at(b));
    }
    c.strokeStyle = colours.line;
    c.stroke();
    const names = frame.endsWith("North") ? ["N", "E", "S", "W"] : frame ? ["y", "x", "", ""] : [];
    c.font = `560 11.5px ${colours.font}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    names.forEach((name, i) => {
        c.fillStyle = i === 0 ? colours.accent : colours["text-3"];
        const angle = (i * Math.PI) / 2;
        c.fillText(name, ...at([radius * 1.12 * Math.sin(angle), radius * 1.12 * Math.cos(angle), z]));
    });
}

/** An arrow on the front that points to the top edge. */
function paintArrow(c, at, attitude) {
    c.beginPath();
    for (const point of [[-0.16, 0.34], [0, 0.62], [0.16, 0.34]]) c.lineTo(...at(rotate(attitude, [point[0], point[1], 0.112])));
    c.strokeStyle = "rgb(255 255 255 / 92%)";
    c.lineWidth = 3;
    c.lineJoin = "round";
    c.lineCap = "round";
    c.stroke();
}

/** The axes of the device, outside of the body. */
function paintAxes(c, at, attitude, colours) {
    const ends = [[[0.62, 0, 0], [1.05, 0, 0], "x"], [[0, 1.1, 0], [0, 1.5, 0], "y"], [[0, 0, 0.11], [0, 0, 0.62], "z"]];
    ends.forEach(([from, to, name], i) => {
        const [a, b] = [rotate(attitude, from), rotate(attitude, to)];
        // An axis that points away from the camera begins behind the body.
        c.globalAlpha = b[1] > a[1] + 0.12 && name === "z" ? 0.25 : 1;
        c.strokeStyle = colours.axes[i];
        c.fillStyle = colours.axes[i];
        c.lineWidth = 2.2;
        c.beginPath();
        c.moveTo(...at(a));
        c.lineTo(...at(b));
        c.stroke();
        c.font = `600 11px ${colours.font}`;
        c.fillText(name, ...at(rotate(attitude, to.map((value) => value * 1.13))));
        c.globalAlpha = 1;
    });
}
