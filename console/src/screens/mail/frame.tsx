import { useEffect, useRef } from 'react';
import { screenTexts } from '../../screen-texts.ts';

/**
 * Puts a mail into the document of a frame. The policy of the console allows no style in markup, also in frames; it
 * allows those that a script sets.
 */
function show(html: string, page: Document): HTMLElement {
  const root = new DOMParser().parseFromString(html, 'text/html').documentElement;
  const styled = [...root.querySelectorAll<HTMLElement>('[style]')].map(
    (element) => [element, element.getAttribute('style') ?? ''] as const,
  );
  for (const [element] of styled) element.removeAttribute('style');
  page.documentElement.replaceWith(root);
  for (const [element, style] of styled) element.style.cssText = style;
  return root;
}

/**
 * A mail as a page, as high as its content. The frame runs no script, sends no form and loads nothing; nobody can press
 * its links.
 */
export function MailFrame({ html }: { html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const { current } = frame;
    const page = current?.contentDocument;
    if (!current || !page) return;
    const root = show(html, page);
    const fit = new ResizeObserver(() => {
      current.style.height = `${root.offsetHeight}px`;
    });
    fit.observe(root);
    return () => fit.disconnect();
  }, [html]);
  return (
    <iframe
      ref={frame}
      title={screenTexts.mail.preview}
      // Without `allow-scripts`: the page around it fills the frame, and nothing runs in it.
      sandbox="allow-same-origin"
      inert
      className="block w-full rounded-lg border border-line bg-white"
    />
  );
}
