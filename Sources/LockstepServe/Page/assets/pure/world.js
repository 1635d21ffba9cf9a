/** The outlines of the world as they are sent. Pure functions. */

/**
 * Returns the points of an outline: latitudes and longitudes in °.
 * @param {number[]} line longitudes and latitudes in hundredths of a degree, each as the difference to the one before
 * @returns {[number, number][]}
 */
export function outline(line) {
    const points = [];
    let [lon, lat] = [0, 0];
    for (let i = 0; i < line.length; i += 2) {
        lon += line[i];
        lat += line[i + 1];
        points.push(/** @type {[number, number]} */ ([lat / 100, lon / 100]));
    }
    return points;
}
