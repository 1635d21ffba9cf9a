import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import Logging

extension AgentState {
    /// The input of the agent's state.
    enum Event {
        /// The loop starts.
        case started
        /// A turn of the loop begins.
        case turnBegan
        /// A source, a signal or the program has posted an item to the inbox.
        case item(Inbox.Item)
        /// The state of the connection or of a message has changed.
        /// - Parameter packetLimit: the largest packet that the broker accepts, in bytes; nil if unknown.
        case link(BrokerLink.Event, packetLimit: Int?)
        /// A message on the `command` topic.
        case request(Data, isRetained: Bool)
        /// A collector's acknowledgement.
        /// - Parameter isNewerThanOutbox: whether it lists batches that this outbox never published.
        case acknowledgement(Acknowledgement, isNewerThanOutbox: Bool)
        /// A message on the `ack` topic that is not a valid acknowledgement.
        case unreadableAcknowledgement(any Error)
        /// A stage of the turn begins.
        case stage(Stage)
        /// The loop ends. The items are the rest of the inbox.
        case shutdownBegan([Inbox.Item])

        // Results of actions.

        /// The outbox has written batches, or a part of them.
        /// - Parameter droppedSamples: the number of samples that the outbox has dropped since it was created.
        case written(Outbox.Accepted, droppedSamples: Int64)
        /// The outbox has written none of the blocks.
        case writeFailed([SampleBlock], any Error)
        /// The blocks of a `flush` request were passed to the outbox.
        /// - Parameter batches: the number of the blocks.
        case flushed(AgentRequest, batches: Int)
        /// The result of publishing a live batch.
        case live(BatchPosition, OutboxDelivery.Outcome)
        /// The result of publishing a batch of the backlog.
        case backlog(BatchPosition, OutboxDelivery.Outcome)
        /// The outbox could not record that backlog is about to be published.
        case backlogNotRecorded(any Error)
        /// The presence was published as message `id`.
        case presencePublished(id: Int32)
        /// The outbox has started a new epoch after a step of the clock.
        case epochStarted(Epoch)
        /// The outbox could not start a new epoch after a step of the clock.
        case epochFailed(any Error)
        /// The outbox was compared again with the acknowledgement that contradicts it.
        case outboxCompared(Acknowledgement, isOlder: Bool)
        /// The outbox, which was restored from an older copy, has started a new epoch.
        /// - Parameter pending: the numbers of all batches in the outbox.
        case epochReplaced(Epoch, pending: [Epoch: SequenceSet])
        /// The restored outbox could not start a new epoch.
        case epochReplacementFailed(any Error)
    }

    /// The stages of a turn, in order. The loop reads the link before the first one.
    enum Stage {
        /// Start a new epoch if an acknowledgement has shown that the outbox is an older copy.
        case restoredOutbox
        /// Retry a refused subscription.
        case subscription
        /// Answer requests, up to the limit of a turn.
        case requests
        /// Answer one more request. Sent only by ``Action/resume(_:)``.
        case nextRequest
        /// Write the batches of a finished window.
        case window
        /// Schedule lost batches for retransmission.
        case retransmission
        /// Publish backlog.
        case backlog
        /// Publish the presence if it is due.
        case presence
        /// Stop when all sources have ended and everything is delivered. The loop writes to the link before this stage.
        case completion
        /// Continue the shutdown. Only after the last turn.
        case shutdown

        static let beforeWrite: [Stage] = [
            .restoredOutbox, .subscription, .requests, .window, .retransmission, .backlog, .presence,
        ]
    }

    /// The output of the agent's state, carried out by the loop in order.
    enum Action {
        case log(Logger.Level, Logger.Message, Logger.Metadata = [:])
        /// Set the sampling rates of all sources, in samples a second.
        case setSourceRates([SensorStream: Double])
        /// Write blocks to the outbox and remove acknowledged batches. Results in `written` or `writeFailed`.
        case write([SampleBlock], removing: [Epoch: SequenceSet])
        /// Publish a batch that was just written. Results in `live`.
        case publishLive(Outbox.Entry)
        /// Read and publish batches of the backlog as long as the delivery has a next one. Each results in `backlog`.
        case publishBacklog
        /// Publish the presence. Results in `presencePublished` if there is a connection.
        case publishPresence(PresenceReport)
        case subscribe
        case reply(AgentReply)
        /// Complete the description with the state of the outbox, and reply. Until then, its `droppedSamples` counts
        /// only samples that never reached the outbox.
        case describe(id: String?, AgentDescription)
        /// Start a new epoch after a step of the clock. Results in `epochStarted` or `epochFailed`.
        case startEpoch
        /// Compare the outbox with the acknowledgement again. Results in `outboxCompared`.
        case compareOutbox(Acknowledgement)
        /// Replace the epoch of a restored outbox. Results in `epochReplaced` or `epochReplacementFailed`.
        case replaceEpoch(after: Acknowledgement)
        /// Record in the outbox that no backlog is being published.
        case stopBacklog
        /// Disconnect, and connect with a new session and last will.
        case reconnect
        /// Pass the event to the state after the preceding actions.
        indirect case resume(Event)
        /// Remove acknowledged batches from the outbox and disconnect before the deadline, in µs of the boot clock.
        case close(removing: [Epoch: SequenceSet], deadline: Int64)
    }
}
