import { Empty, Page } from '../../components/page';
import { texts } from '../../texts';

export const Screen = () => (
  <Page title={texts.navigation.customers}>
    <Empty>{texts.errors.soon}</Empty>
  </Page>
);
