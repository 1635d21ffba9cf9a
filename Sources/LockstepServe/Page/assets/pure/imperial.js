/** Imperial units of the quantities that are stored in metric ones. Pure functions. */

/** @typedef {{unit: string, factor: number, offset: number}} Shown the unit that is shown; a value in it is `value * factor + offset` */

const IMPERIAL = {
    m: { unit: "ft", factor: 1 / 0.3048, offset: 0 },
    km: { unit: "mi", factor: 1 / 1.609344, offset: 0 },
    "m/s": { unit: "mph", factor: 3600 / 1609.344, offset: 0 },
    "km/h": { unit: "mph", factor: 1 / 1.609344, offset: 0 },
    "s/m": { unit: "min/mi", factor: 1609.344 / 60, offset: 0 },
    "°C": { unit: "°F", factor: 1.8, offset: 32 },
    hPa: { unit: "inHg", factor: 1 / 33.86389, offset: 0 },
};

/**
 * Returns the unit in which a value is shown, and how it follows from the stored one.
 * @param {string} unit @param {"metric"|"imperial"} chosen @returns {Shown}
 */
export function shownUnit(unit, chosen) {
    return (chosen === "imperial" ? IMPERIAL[unit] : undefined) ?? { unit, factor: 1, offset: 0 };
}

/**
 * Returns the samples of a plot in the units that are shown; the same if nothing is converted.
 * @param {import("./envelope.js").Series} series @param {"metric"|"imperial"} chosen @returns {import("./envelope.js").Series}
 */
export function seriesIn(series, chosen) {
    const shown = series.units.map((unit) => shownUnit(unit, chosen));
    if (shown.every(({ factor }) => factor === 1)) return series;
    const scaled = (columns) => columns.map((values, c) => (shown[c].factor === 1 ? values : values.map((value) => value * shown[c].factor + shown[c].offset)));
    const low = scaled(series.low);
    return { ...series, units: shown.map(({ unit }) => unit), low, high: series.high === series.low ? low : scaled(series.high) };
}
