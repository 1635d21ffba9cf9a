import Glibc
import LockstepCommandLine

/// The folder with the files of the page `/join`.
enum JoinFolder {
    /// Returns the folder of an installed page or of the checkout, or nil if there is none.
    static func find() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        var folder = String(decoding: buffer[..<count], as: UTF8.self)
        folder = parent(folder)
        let installed = parent(folder) + "/share/lockstep/join"
        if contains(installed) { return installed }
        while !folder.isEmpty {
            let page = folder + "/Sources/LockstepGateway/Page"
            if contains(page) { return page }
            folder = parent(folder)
        }
        return nil
    }

    /// Returns the folder if it has the files of a page.
    static func check(_ folder: String) throws -> String {
        guard contains(folder) else {
            throw CommandFailure("\(folder) has no file index.html: name the folder with the files of the page")
        }
        return folder
    }

    private static func contains(_ folder: String) -> Bool {
        access(folder + "/index.html", R_OK) == 0
    }

    private static func parent(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }
}
