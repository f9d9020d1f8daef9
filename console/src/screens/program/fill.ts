/** The reading of a variable in the examples, in all of their languages. */
const READ =
  /(?:System\.getenv|os\.[gG]etenv|os\.environ\.get|\bread)\("(LICET_URL|LICET_PRODUCT_ID)"(?:, "")?\)|os\.environ\["(LICET_URL)"\]|"\$(LICET_URL|LICET_PRODUCT_ID)"/g;
const READ_IN_TYPESCRIPT = 'LICET_URL: url, LICET_PRODUCT_ID: productId, ';

/**
 * An example with an address and a product id in place of the variables LICET_URL and LICET_PRODUCT_ID, so
 * that only LICET_KEY is left to try it.
 */
export function fillIn(source: string, url: string, productId: number): string {
  const values: Readonly<Record<string, string>> = {
    LICET_URL: url,
    LICET_PRODUCT_ID: String(productId),
  };
  return source
    .replaceAll(READ, (_, ...names: unknown[]) => {
      const name = names.slice(0, 3).find((each) => typeof each === 'string');
      return JSON.stringify(values[String(name)]);
    })
    .replace(
      `const { ${READ_IN_TYPESCRIPT}`,
      `const url: string = '${url}';\nconst productId: string = '${productId}';\nconst { `,
    )
    .replace('Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.', 'Set LICET_KEY.');
}
