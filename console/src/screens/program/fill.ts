/** The reading of a variable in the examples, in all of their languages. */
const READ =
  /(?:System\.getenv(?:\(\)\.getOrDefault)?|environment\.getOrDefault|os\.[gG]etenv|os\.environ\.get|\$?\bread)\(["'](LICET_\w+)["'](?:, "")?\)(?: \?\? "")?|os\.environ\["(LICET_\w+)"\]|"\$(LICET_\w+)"|process\.env\.(LICET_\w+) \?\? ''/g;

/** The values that a service knows: LICET_KEY is left to the user. */
export interface Filling {
  url: string;
  productId: number;
  /** Without them the example believes each server. */
  publicKeys?: string;
}

/** An example with values in place of the variables that it reads. */
export function fillIn(source: string, { url, productId, publicKeys }: Filling): string {
  const values: Readonly<Record<string, string | undefined>> = {
    LICET_URL: url,
    LICET_PRODUCT_ID: String(productId),
    LICET_PUBLIC_KEYS: publicKeys,
  };
  return source
    .replaceAll(READ, (read, ...names: unknown[]) => {
      const name = names.slice(0, 4).find((each) => typeof each === 'string');
      const value = values[String(name)];
      return value === undefined ? read : JSON.stringify(value);
    })
    .replace('Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.', 'Set LICET_KEY.');
}
