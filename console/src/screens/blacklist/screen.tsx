import { Empty, Page } from '../../components/page';
import { texts } from '../../texts';

export const Screen = () => (
  <Page title={texts.navigation.blacklist}>
    <Empty>{texts.errors.soon}</Empty>
  </Page>
);
