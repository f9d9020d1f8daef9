/**
 * The value of a setting that is true or false: in any case, and as a boolean of TOML. Undefined for another value,
 * which `npm start` and `npm run deploy` reject.
 */
export function parseBoolean(value: unknown): boolean | undefined {
  const text = String(value).toLowerCase();
  return text === 'true' || (text === 'false' ? false : undefined);
}
