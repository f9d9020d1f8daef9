import { useEffect, useState } from 'react';

/** The length from which a text is searched: a search reads many rows. */
export const MIN_TEXT = 3;

const REST_MS = 300;

/** Follows a value once it has stopped changing. */
export function useRested(value: string): string {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}
