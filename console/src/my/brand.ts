/** The classes of a button in the colour of the seller. */
export const BRAND = 'bg-brand text-on-brand hover:opacity-90';
