/** Damped springs, which bring a displayed value to its target. Pure functions. */

/**
 * @typedef {object} SpringState
 * @property {number} value
 * @property {number} velocity in units per second
 */

/**
 * Returns the state after some time, by the exact solution for a fixed target; so it is stable for any time step.
 * @param {SpringState} state
 * @param {number} target
 * @param {number} seconds
 * @param {{frequency?: number, damping?: number}} [spring] frequency in Hz; damping 1 is critical, less overshoots
 * @returns {SpringState}
 */
export function springStep(state, target, seconds, { frequency = 2.2, damping = 1 } = {}) {
    if (!(seconds > 0)) return state;
    const w = 2 * Math.PI * frequency;
    const x = state.value - target;
    const v = state.velocity;
    if (damping >= 1) {
        const decay = Math.exp(-w * seconds);
        const b = v + w * x;
        return { value: target + (x + b * seconds) * decay, velocity: (v - w * b * seconds) * decay };
    }
    const wd = w * Math.sqrt(1 - damping * damping);
    const decay = Math.exp(-damping * w * seconds);
    const cos = Math.cos(wd * seconds);
    const sin = Math.sin(wd * seconds);
    const b = (v + damping * w * x) / wd;
    return {
        value: target + decay * (x * cos + b * sin),
        velocity: decay * (v * cos - (x * wd + damping * w * b) * sin),
    };
}

/**
 * Returns the angle equivalent to `target` that is nearest to `from`, so that a dial never turns the long way round.
 * @param {number} from degrees
 * @param {number} target degrees
 */
export function nearestTurn(from, target) {
    return from + ((((target - from + 180) % 360) + 360) % 360) - 180;
}
