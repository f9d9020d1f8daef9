/**
 * What is wrong where the two dashes were forgotten, as in `npm run import FILE --dry-run`: npm takes the
 * option for its own, and the command would do what nobody asked for.
 *
 * @param names of the command's options, without the dashes
 * @returns undefined where npm took none of them
 */
export function takenByNpm(names: readonly string[]): string | undefined {
  const taken = names.find((name) => {
    const value = process.env[`npm_config_${name.replaceAll('-', '_')}`];
    return value !== undefined && value !== '' && value !== 'false';
  });
  if (taken === undefined) return undefined;
  const { npm_lifecycle_event: script = '' } = process.env;
  const command = script === 'start' ? 'npm start' : `npm run ${script}`;
  return `npm took --${taken} for itself. Options go behind two dashes: ${command} -- … --${taken}`;
}
