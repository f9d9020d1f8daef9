/** The sign of Licet, which is the icon of its pages. */
export const Sign = ({ className = 'size-7' }: { className?: string }) => (
  <img src="/docs/icon.svg" alt="" className={className} />
);
