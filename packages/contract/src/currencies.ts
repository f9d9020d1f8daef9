/** The decimals of currencies, as payment services count them. This module imports no code. */

const WITHOUT_DECIMALS = 'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' ');
const WITH_THREE = 'BHD JOD KWD OMR TND'.split(' ');

/** The number of decimals of an amount. @param currency a code of ISO 4217; null if it is unknown */
export function decimalsOf(currency: string | null): number {
  if (currency === null) return 2;
  if (WITHOUT_DECIMALS.includes(currency)) return 0;
  return WITH_THREE.includes(currency) ? 3 : 2;
}
