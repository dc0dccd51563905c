//! The suite over both stores.

mod sqlite {
    use std::sync::Arc;

    use windlass::adapters::sqlite::Options;
    use windlass_actors::testkit::conformance::Harness;

    use crate::file::OnFile;

    async fn harness() -> Arc<dyn Harness> {
        Arc::new(OnFile::open(Options::default()).await)
    }

    windlass_actors::store_conformance!(harness);
}
