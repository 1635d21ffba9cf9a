/** Draws the ball game. */

import { prefersReducedMotion, token } from "../core/theme.js";
import { BALL, BUMPERS, SIDE, STAR } from "../pure/bounce.js";

/** How long a hit glows, in ms. */
const GLOW = 320;

export function arenaPainter() {
    let colours = readColours();
    /** @type {{kind: string, x: number, y: number, speed: number, index?: number, at: number}[]} */
    let effects = [];
    const trail = [];

    return {
        readColours() {
            colours = readColours();
        },
        add(events, time) {
            for (const event of events) effects.push({ ...event, at: time });
        },
        paint({ context: c, width, height, scale }, game, pull, time, isRunning) {
            if (!width) return;
            effects = effects.filter(({ at }) => time - at < GLOW);
            const unit = Math.min(width, height) / SIDE;
            c.setTransform(scale, 0, 0, scale, 0, 0);
            c.clearRect(0, 0, width, height);
            c.translate((width - unit * SIDE) / 2, (height - unit * SIDE) / 2);
            c.scale(unit, unit);
            paintGrid(c, colours);
            BUMPERS.forEach((bumper, index) => paintBumper(c, bumper, effects.find((effect) => effect.index === index), time, colours));
            paintStar(c, game.star, prefersReducedMotion() || !isRunning ? 0 : time, colours);
            if (isRunning) trail.push({ x: game.ball.x, y: game.ball.y });
            while (trail.length > 26 || (!isRunning && trail.length)) trail.shift();
            if (!prefersReducedMotion()) paintTrail(c, trail, colours);
            paintBall(c, game.ball, pull, colours);
            for (const effect of effects) paintEffect(c, effect, time, colours);
        },
    };
}

function readColours() {
    return Object.fromEntries(["line", "line-strong", "surface", "surface-2", "surface-3", "text", "text-3", "accent", "state-inactive"].map((name) => [name, token(`--${name}`)]));
}

function paintGrid(c, colours) {
    c.fillStyle = colours.line;
    for (let x = 0.5; x < SIDE; x += 1) {
        for (let y = 0.5; y < SIDE; y += 1) {
            c.beginPath();
            c.arc(x, y, 0.028, 0, 7);
            c.fill();
        }
    }
}

function paintBumper(c, { x, y, radius }, hit, time, colours) {
    const glow = hit ? 1 - (time - hit.at) / GLOW : 0;
    c.beginPath();
    c.arc(x, y, radius + glow * 0.08, 0, 7);
    c.fillStyle = colours["surface-3"];
    c.fill();
    c.globalAlpha = glow * 0.5;
    c.fillStyle = colours.accent;
    c.fill();
    c.globalAlpha = 1;
    c.strokeStyle = glow > 0 ? colours.accent : colours["line-strong"];
    c.lineWidth = 0.06;
    c.stroke();
    c.beginPath();
    c.arc(x, y, radius * 0.5, 0, 7);
    c.stroke();
}

function paintStar(c, { x, y }, time, colours) {
    const turn = time / 1600;
    const size = STAR * (1 + 0.06 * Math.sin(time / 240));
    c.beginPath();
    for (let k = 0; k < 10; k += 1) {
        const r = k % 2 ? size * 0.46 : size;
        c.lineTo(x + r * Math.sin(turn + (k * Math.PI) / 5), y - r * Math.cos(turn + (k * Math.PI) / 5));
    }
    c.closePath();
    c.fillStyle = colours["state-inactive"];
    c.fill();
}

function paintTrail(c, trail, colours) {
    trail.forEach(({ x, y }, i) => {
        c.globalAlpha = (i / trail.length) * 0.12;
        c.fillStyle = colours.accent;
        c.beginPath();
        c.arc(x, y, BALL * (0.4 + (0.6 * i) / trail.length), 0, 7);
        c.fill();
    });
    c.globalAlpha = 1;
}

function paintBall(c, { x, y }, pull, colours) {
    c.beginPath();
    c.arc(x, y, BALL, 0, 7);
    c.fillStyle = colours.accent;
    c.fill();
    // The highlight is on the side away from gravity.
    c.beginPath();
    c.arc(x - BALL * 0.3 * Math.sign(pull?.[0] ?? 1) * Math.min(1, Math.abs(pull?.[0] ?? 1) * 3), y - BALL * 0.32, BALL * 0.3, 0, 7);
    c.fillStyle = "rgb(255 255 255 / 45%)";
    c.fill();
}

function paintEffect(c, { kind, x, y, speed, at }, time, colours) {
    const share = (time - at) / GLOW;
    c.globalAlpha = 1 - share;
    c.strokeStyle = kind === "star" ? colours["state-inactive"] : colours["line-strong"];
    c.lineWidth = 0.06 * (1 - share) + 0.01;
    c.beginPath();
    c.arc(x, y, BALL + share * (kind === "star" ? 1.3 : Math.min(0.7, speed / 20)), 0, 7);
    c.stroke();
    c.globalAlpha = 1;
}
