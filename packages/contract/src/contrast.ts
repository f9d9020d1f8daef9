/** Colours of texts on colours that a seller chooses. */

/** The brightness of a colour, from 0 to 1 (WCAG 2). */
function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const part = Number.parseInt(colour.slice(start, start + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black has more contrast than white on a colour that is brighter than this. */
const BRIGHT = 0.179;

/** The colour of text on a colour of the form `#2f4fbf`. */
export const textColourOn = (colour: string): string =>
  luminanceOf(colour) > BRIGHT ? '#000000' : '#ffffff';
