import LockstepLive
import LockstepModel
import Synchronization

/// The streams that requests and messages may name: those of the settings, and those that the store has.
///
/// The store may be opened long after the start, and a collector may add streams to it at any time.
final class KnownStreams: Sendable {
    private let settings: StreamCatalog
    private let picture: LivePicture
    private let present: Mutex<StreamCatalog>

    /// Creates the streams of the settings.
    /// - Parameter picture: the picture, which receives the streams of the store as well.
    init(_ settings: StreamCatalog, picture: LivePicture) {
        self.settings = settings
        self.picture = picture
        present = Mutex(settings)
    }

    /// The present streams.
    var catalog: StreamCatalog { present.withLock { $0 } }

    /// Replaces the streams of the store. The settings take precedence.
    func use(stored: StreamCatalog) {
        let declared = settings.declared
        let others = stored.declared.filter { stream in
            !declared.contains { $0.name == stream.name || $0.table == stream.table }
        }
        // Cannot fail: neither the settings nor the store have two streams with the same name or table.
        guard let catalog = try? StreamCatalog(declared: declared + others) else { return }
        present.withLock { present in
            guard catalog != present else { return }
            present = catalog
            picture.use(catalog)
        }
    }
}
