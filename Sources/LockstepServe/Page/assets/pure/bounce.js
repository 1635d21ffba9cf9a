/** The ball game: a ball in a square box, pulled by gravity, that bounces off walls and bumpers and collects stars. Pure functions. */

/** Side of the box. Lengths are in its tenths, y points down. */
export const SIDE = 10;
export const BALL = 0.36;
export const STAR = 0.34;
/** Acceleration of the ball by 1 g, in lengths per s². A ball that fell as fast as a real one could not be played. */
const PULL = 26;
const DRAG = 0.35;
const WALL_BOUNCE = 0.68;
const BUMPER_BOUNCE = 0.98;
const MOST_SPEED = 24;
const SUBSTEP = 1 / 240;

export const BUMPERS = [
    { x: 2.6, y: 2.7, radius: 0.62 },
    { x: 7.4, y: 2.7, radius: 0.62 },
    { x: 5, y: 5, radius: 0.78 },
    { x: 2.6, y: 7.3, radius: 0.62 },
    { x: 7.4, y: 7.3, radius: 0.62 },
];

/**
 * @typedef {object} Game
 * @property {{x: number, y: number, vx: number, vy: number}} ball
 * @property {{x: number, y: number}} star
 * @property {number} score stars that were collected
 * @property {number} seed of the next star
 * @property {number} hits bounces so far
 */

/** @param {number} seed @returns {Game} */
export function startGame(seed, score = 0) {
    const first = nextStar(seed, { x: 5, y: 9 });
    return { ball: { x: 5, y: 8.4, vx: 0, vy: 0 }, star: first.star, score, seed: first.seed, hits: 0 };
}

/**
 * Returns the game after some time.
 * @param {Game} game @param {[number, number, number]} gravity in g, in the frame of the device: x to the right, y up
 * @param {number} seconds at most 0.25 are played, so that a hidden page does not fling the ball
 * @returns {{game: Game, events: {kind: "wall"|"bumper"|"star", x: number, y: number, speed: number, index?: number}[]}}
 */
export function stepGame(game, gravity, seconds) {
    const events = [];
    let left = Math.min(0.25, Math.max(0, seconds));
    let { ball, star, score, seed, hits } = game;
    ball = { ...ball };
    while (left > 1e-6) {
        const dt = Math.min(SUBSTEP, left);
        left -= dt;
        ball.vx = (ball.vx + gravity[0] * PULL * dt) * (1 - DRAG * dt);
        ball.vy = (ball.vy - gravity[1] * PULL * dt) * (1 - DRAG * dt);
        const speed = Math.hypot(ball.vx, ball.vy);
        if (speed > MOST_SPEED) {
            ball.vx *= MOST_SPEED / speed;
            ball.vy *= MOST_SPEED / speed;
        }
        ball.x += ball.vx * dt;
        ball.y += ball.vy * dt;
        hits += bounceOffWalls(ball, events) + bounceOffBumpers(ball, events);
        if (Math.hypot(ball.x - star.x, ball.y - star.y) < BALL + STAR) {
            events.push({ kind: "star", x: star.x, y: star.y, speed });
            score += 1;
            ({ star, seed } = nextStar(seed, ball));
        }
    }
    return { game: { ball, star, score, seed, hits }, events };
}

function bounceOffWalls(ball, events) {
    let count = 0;
    for (const [place, velocity] of [["x", "vx"], ["y", "vy"]]) {
        const low = BALL;
        const high = SIDE - BALL;
        if (ball[place] >= low && ball[place] <= high) continue;
        const speed = Math.abs(ball[velocity]);
        ball[velocity] = (ball[place] < low ? 1 : -1) * speed * WALL_BOUNCE;
        ball[place] = Math.min(high, Math.max(low, ball[place]));
        if (speed > 1.2) {
            events.push({ kind: "wall", x: ball.x, y: ball.y, speed });
            count += 1;
        }
    }
    return count;
}

function bounceOffBumpers(ball, events) {
    let count = 0;
    BUMPERS.forEach((bumper, index) => {
        const dx = ball.x - bumper.x;
        const dy = ball.y - bumper.y;
        const distance = Math.hypot(dx, dy);
        const reach = BALL + bumper.radius;
        if (distance >= reach || distance === 0) return;
        const [nx, ny] = [dx / distance, dy / distance];
        const towards = ball.vx * nx + ball.vy * ny;
        ball.x = bumper.x + nx * reach;
        ball.y = bumper.y + ny * reach;
        if (towards >= 0) return;
        ball.vx -= (1 + BUMPER_BOUNCE) * towards * nx;
        ball.vy -= (1 + BUMPER_BOUNCE) * towards * ny;
        events.push({ kind: "bumper", x: ball.x, y: ball.y, speed: -towards, index });
        count += 1;
    });
    return count;
}

/** A place for the next star: apart from bumpers and from the ball. */
function nextStar(seed, ball) {
    let state = seed;
    for (let attempt = 0; attempt < 60; attempt += 1) {
        const [a, s1] = random(state);
        const [b, s2] = random(s1);
        state = s2;
        const star = { x: 0.9 + a * (SIDE - 1.8), y: 0.9 + b * (SIDE - 1.8) };
        const isFree = BUMPERS.every((bumper) => Math.hypot(star.x - bumper.x, star.y - bumper.y) > bumper.radius + STAR + 0.3);
        if (isFree && Math.hypot(star.x - ball.x, star.y - ball.y) > 2.5) return { star, seed: state };
    }
    return { star: { x: 5, y: 1 }, seed: state };
}

/** A pseudorandom number and the next state (mulberry32). @param {number} seed @returns {[number, number]} */
export function random(seed) {
    const next = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(next ^ (next >>> 15), 1 | next);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return [((t ^ (t >>> 14)) >>> 0) / 4294967296, next];
}
