/** Text on one line, cut where its column ends; the whole text on hover. */
export const Cut = ({ children, isMono = false }: { children: string; isMono?: boolean }) => (
  <span title={children} className={`block truncate ${isMono ? 'font-mono text-[0.8125rem]' : ''}`}>
    {children}
  </span>
);
