//! Congestion controls in Python: the classes live in a process of their own, at the other end of a socket.
//!
//! Each call is a request and a reply of a few bytes. The other end is `python/xoff/functions/control_server.py`, which
//! has the same formats. A failed call ends the run: the thread unwinds with a [`Failure`], without the message of a panic.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::panic;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as WallTime;

use xoff_models::hosts::congestion_control::contract::{Ack, Line, Loss, NewFlow};
use xoff_models::hosts::congestion_control::python::{Event, Limits, Object, Session};
use xoff_units::{Duration, Moment, number};

/// Bytes of a reply: a byte for failures, rate, window and timer.
const REPLY: usize = 25;
/// Most bytes of the text of a failure.
const MAX_TEXT: u64 = 1 << 16;

/// The requests, in the order of the other end.
#[derive(Debug, Clone, Copy)]
enum Request {
    Start,
    Ack,
    Loss,
    Notification,
    Sent,
    Timer,
    Copy,
    Drop,
}

/// A failed call, the payload of the unwinding.
#[derive(Debug)]
pub struct Failure {
    /// Number of the class.
    pub number: u32,
    /// The method.
    pub method: &'static str,
    /// The reason.
    pub reason: Reason,
}

/// The reason of a failed call.
#[derive(Debug)]
pub enum Reason {
    /// The method raised, or left a wrong attribute: the rest of a sentence about the method.
    Wrong(String),
    /// The method did not return in time.
    Late,
    /// The process ended.
    Ended,
}

/// The connection to the process of the classes.
#[derive(Debug)]
pub struct Connection(Arc<Mutex<Wire>>);

#[derive(Debug)]
struct Wire {
    stream: UnixStream,
    /// Requests without a reply, which go with the next request.
    waiting: Vec<u8>,
    /// Numbers of objects given so far.
    objects: u32,
}

impl Connection {
    /// Connects to the socket of a process. A reply may take `timeout` seconds.
    pub fn new(path: &str, timeout: f64) -> std::io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(WallTime::from_secs_f64(timeout)))?;
        Ok(Self(Arc::new(Mutex::new(Wire { stream, waiting: Vec::new(), objects: 0 }))))
    }
}

impl Session for Connection {
    fn start(&self, number: u32, line: &Line, flow: &NewFlow) -> (Box<dyn Object>, Limits) {
        let mut body = Body::default();
        body.u32(number).u64(line.rate.0).u64(line.round_trip.ps()).u64(line.seed);
        body.u64(line.framing.payload).u64(line.framing.header);
        body.u64(flow.size.unwrap_or(u64::MAX)).u32(flow.key).u8(flow.class);
        let id = self.0.lock().unwrap_or_else(PoisonError::into_inner).next();
        let object = Remote { wire: self.0.clone(), id, number };
        let limits = object.ask("__init__", Request::Start, &body);
        (Box::new(object), limits)
    }
}

/// An object of the process.
#[derive(Debug)]
struct Remote {
    wire: Arc<Mutex<Wire>>,
    id: u32,
    number: u32,
}

impl Remote {
    /// Sends a request, and returns the attributes of the reply.
    fn ask(&self, method: &'static str, request: Request, body: &Body) -> Limits {
        let found = self.wire.lock().unwrap_or_else(PoisonError::into_inner).ask(self.id, request, body);
        found.unwrap_or_else(|reason| {
            panic::resume_unwind(Box::new(Failure { number: self.number, method, reason }))
        })
    }
}

impl Object for Remote {
    fn call(&mut self, event: &Event<'_>) -> Limits {
        let mut body = Body::default();
        let (method, request) = match event {
            Event::Ack(ack) => {
                body.ack(ack);
                ("on_ack", Request::Ack)
            }
            Event::Loss(loss, now) => {
                body.u8(u8::from(*loss == Loss::Timeout)).u64(now.ps());
                ("on_loss", Request::Loss)
            }
            Event::Notification(now) => {
                body.u64(now.ps());
                ("on_notification", Request::Notification)
            }
            Event::Sent(sent) => {
                body.u64(sent.bytes).u8(u8::from(sent.is_queue_empty)).u64(sent.now.ps());
                ("on_sent", Request::Sent)
            }
            Event::Timer(now) => {
                body.u64(now.ps());
                ("on_timer", Request::Timer)
            }
        };
        self.ask(method, request, &body)
    }
}

impl Clone for Remote {
    fn clone(&self) -> Self {
        let id = self.wire.lock().unwrap_or_else(PoisonError::into_inner).next();
        let copy = Self { wire: self.wire.clone(), id, number: self.number };
        let mut body = Body::default();
        body.u32(self.id);
        copy.ask("__deepcopy__", Request::Copy, &body);
        copy
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let mut wire = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        wire.write(self.id, Request::Drop, &Body::default());
    }
}

impl Wire {
    const fn next(&mut self) -> u32 {
        self.objects += 1;
        self.objects
    }

    /// Adds a request: length, kind, object and body.
    fn write(&mut self, id: u32, request: Request, body: &Body) {
        let length = body.0.len() + 7;
        self.waiting.extend_from_slice(&(length as u16).to_le_bytes());
        self.waiting.push(request as u8);
        self.waiting.extend_from_slice(&id.to_le_bytes());
        self.waiting.extend_from_slice(&body.0);
    }

    fn ask(&mut self, id: u32, request: Request, body: &Body) -> Result<Limits, Reason> {
        self.write(id, request, body);
        let requests = std::mem::take(&mut self.waiting);
        self.stream.write_all(&requests).map_err(|_| Reason::Ended)?;
        self.waiting = requests;
        self.waiting.clear();
        let mut reply = [0; REPLY];
        self.read(&mut reply)?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| reply[at + i]));
        if reply[0] != 0 {
            let mut text = vec![0; word(9).min(MAX_TEXT) as usize];
            self.read(&mut text)?;
            return Err(Reason::Wrong(String::from_utf8_lossy(&text).into_owned()));
        }
        let rate = f64::from_bits(word(1));
        Ok(Limits { rate: (rate > 0.0).then_some(rate), window: word(9), timer: Moment(word(17)) })
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Reason> {
        self.stream.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Reason::Late,
            _ => Reason::Ended,
        })
    }
}

/// The body of a request.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn ack(&mut self, ack: &Ack<'_>) {
        let flags = u8::from(ack.is_marked) | u8::from(ack.is_loss) << 1;
        self.u64(ack.bytes).u64(ack.in_flight).u32(ack.acknowledged).u32(ack.next).u8(flags);
        self.u64(ack.rtt.map_or(u64::MAX, Duration::ps)).u32(ack.hops).u64(ack.now.ps());
        for hop in ack.beside.iter().flat_map(|record| &record.hops) {
            self.u32(hop.node).u32(number(hop.port.index()));
            self.u64(hop.at.ps()).u64(hop.sent).u32(hop.queued).u64(hop.rate.0);
        }
    }
}
