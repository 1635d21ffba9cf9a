/** Imperial units of the quantities that are stored in metric ones. Pure functions. */

const IMPERIAL = {
    m: { unit: "ft", factor: 1 / 0.3048 },
    "m/s": { unit: "mph", factor: 3600 / 1609.344 },
    "s/m": { unit: "min/mi", factor: 1609.344 / 60 },
};

/**
 * Returns the unit in which a value is shown, and the factor from the stored one.
 * @param {string} unit @param {"metric"|"imperial"} chosen
 */
export function shownUnit(unit, chosen) {
    return (chosen === "imperial" ? IMPERIAL[unit] : undefined) ?? { unit, factor: 1 };
}

/**
 * Returns the samples of a plot in the units that are shown; the same if nothing is converted.
 * @param {import("./envelope.js").Series} series @param {"metric"|"imperial"} chosen @returns {import("./envelope.js").Series}
 */
export function seriesIn(series, chosen) {
    const shown = series.units.map((unit) => shownUnit(unit, chosen));
    if (shown.every(({ factor }) => factor === 1)) return series;
    const scaled = (columns) => columns.map((values, c) => (shown[c].factor === 1 ? values : values.map((value) => value * shown[c].factor)));
    const low = scaled(series.low);
    return { ...series, units: shown.map(({ unit }) => unit), low, high: series.high === series.low ? low : scaled(series.high) };
}
