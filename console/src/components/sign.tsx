/** The sign of Licet: its first letter on the accent's colour. */
export const Sign = ({ className = 'size-7' }: { className?: string }) => (
  <svg viewBox="0 0 28 28" fill="none" aria-hidden="true" className={className}>
    <rect width="28" height="28" rx="8" className="fill-accent" />
    <path d="M10.5 7.5v13h8" strokeWidth="3" className="stroke-on-accent" />
  </svg>
);
