/// Stage of a download, with the data that only this stage has.
enum DownloadStage: Hashable, Sendable {
    /// The part file is being opened. `leaving`: the reason to leave once it is open.
    case preparing(leaving: FetchLeaving?)
    /// A file of another program is being copied into the part file. `leaving` as before.
    case checking(leaving: FetchLeaving?)
    /// A request is out, or is about to be.
    case moving
    /// The requests are being stopped, or the last checkpoint is being made.
    case settling(FetchLeaving)
    /// The digests of the whole file are being compared. `leaving` as before.
    case verifying(leaving: FetchLeaving?)
    /// The whole file is being made durable, together with others. `leaving` as before.
    case securing(leaving: FetchLeaving?)
    /// Others are being given copies of the whole, durable file.
    case sharing
    case publishing
    /// Gone; `nil`: the transfers that it served have the file, or wait elsewhere.
    case left(FetchLeaving?)

    var kind: FetchStage {
        switch self {
        case .preparing: .preparing
        case .checking: .checking
        case .moving: .moving
        case .settling: .settling
        case .verifying: .verifying
        case .securing: .securing
        case .sharing: .sharing
        case .publishing: .publishing
        case .left: .left
        }
    }

    var leaving: FetchLeaving? {
        switch self {
        case .preparing(let leaving), .checking(let leaving), .verifying(let leaving),
            .securing(let leaving), .left(let leaving):
            leaving
        case .settling(let leaving): leaving
        case .moving, .sharing, .publishing: nil
        }
    }
}
