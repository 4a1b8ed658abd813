// Hosts, switches and links in ns-3 (3.37 or later), whose flows begin when standard input says so.
//
// Input: lines of numbers. First the cables, as many as --cables: both nodes, of which those below --hosts are hosts; its
// delay in s, and of the way there and the way back bit/s, bytes that may wait, and bytes that wait beyond which packets are
// marked. Then the flows, as many as --flows: source, destination and bytes. Then commands, times in ns: "s ROW TIME
// COUNT LINKS COUNT LINKS" opens the connection of a flow at a time, on a path and the way back (link 2 c is the way there
// of cable c, 2 c + 1 the way back), and "r TIME" runs to a time, or to the end of the first instant in which a flow's last
// byte reaches its receiver. Output, one line for each run: the time in ns, how many flows have ended and how many are
// underway; the rows of the first; of the others row and bytes received, in order or not.
//
// Hosts have one cable each. A port is a device's drop-tail queue, which marks; there is no queue above it.
#include <iostream>
#include <map>
#include <set>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/ppp-header.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

static const uint16_t PORT = 20000;
static const uint32_t SPACE = 1 << 20;  // bytes of both ends' buffers without a limit

struct Flow {
    uint32_t source, destination;
    uint64_t size, left = 0, received = 0;
    std::vector<Ptr<NetDevice>> there, back;  // the devices that it leaves by
    Ptr<TcpSocketBase> receiver = nullptr;
};

static std::vector<Flow> flows;
static std::vector<Ptr<Node>> nodes;
static std::vector<Ptr<NetDevice>> devices;  // by link: the device that sends into it
static std::map<uint32_t, Ipv4Address> addresses;  // by host
static std::map<std::pair<Ipv4Address, uint16_t>, uint32_t> flowOf;  // by the sender's address and port
static std::set<uint32_t> underway;
static std::vector<uint32_t> ended;

// A drop-tail queue that marks.
class MarkingQueue : public DropTailQueue<Packet> {
  public:
    uint32_t markAbove = 0;

    bool Enqueue(Ptr<Packet> packet) override {
        if (GetNBytes() > markAbove) {
            PppHeader ppp;
            Ipv4Header ip;
            packet->RemoveHeader(ppp);
            packet->RemoveHeader(ip);
            if (ip.GetEcn() != Ipv4Header::ECN_NotECT) ip.SetEcn(Ipv4Header::ECN_CE);
            packet->AddHeader(ip);
            packet->AddHeader(ppp);
        }
        return DropTailQueue<Packet>::Enqueue(packet);
    }
};

// A switch, which sends each packet on along the path of its flow.
class PathRouting : public Ipv4RoutingProtocol {
  public:
    Ptr<Node> node;

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>, Socket::SocketErrno& error) override {
        error = Socket::ERROR_NOROUTETOHOST;
        return nullptr;
    }
    bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice>, UnicastForwardCallback go,
                    MulticastForwardCallback, LocalDeliverCallback, ErrorCallback) override {
        TcpHeader tcp;
        packet->PeekHeader(tcp);
        bool isThere = tcp.GetDestinationPort() == PORT;  // the other end has an ephemeral one
        Flow& flow = flows[isThere ? flowOf.at({header.GetSource(), tcp.GetSourcePort()})
                                   : flowOf.at({header.GetDestination(), tcp.GetDestinationPort()})];
        for (Ptr<NetDevice> device : isThere ? flow.there : flow.back) {
            if (device->GetNode() != node) continue;
            Ptr<Ipv4Route> route = Create<Ipv4Route>();
            route->SetDestination(header.GetDestination());
            route->SetGateway(header.GetDestination());
            route->SetOutputDevice(device);
            go(route, packet, header);
            return true;
        }
        return false;
    }
    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void SetIpv4(Ptr<Ipv4>) override {}
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}
};

static void Fill(uint32_t row, Ptr<Socket> socket, uint32_t) {
    Flow& flow = flows[row];
    while (flow.left > 0) {
        uint64_t count = std::min<uint64_t>(flow.left, socket->GetTxAvailable());
        int sent = count > 0 ? socket->Send(Create<Packet>(count)) : 0;
        if (sent <= 0) return;
        flow.left -= sent;
    }
    socket->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
    socket->Close();
}

static void Begin(uint32_t row) {
    Flow& flow = flows[row];
    Ptr<Socket> socket = Socket::CreateSocket(nodes[flow.source], TcpSocketFactory::GetTypeId());
    socket->Bind();
    Address local;
    socket->GetSockName(local);
    flowOf[{addresses[flow.source], InetSocketAddress::ConvertFrom(local).GetPort()}] = row;
    flow.left = flow.size;
    underway.insert(row);
    socket->SetSendCallback([row](Ptr<Socket> each, uint32_t room) { Fill(row, each, room); });
    socket->Connect(InetSocketAddress(addresses[flow.destination], PORT));
}

static void Receive(uint32_t row, Ptr<Socket> socket) {
    Flow& flow = flows[row];
    while (Ptr<Packet> packet = socket->Recv()) {
        if (packet->GetSize() == 0) break;
        flow.received += packet->GetSize();
    }
    if (flow.received == flow.size && underway.erase(row) > 0) {
        if (ended.empty()) Simulator::Stop(Seconds(0));  // behind all else of this instant
        ended.push_back(row);
        flow.receiver = nullptr;
    }
}

static void Accept(Ptr<Socket> socket, const Address& from) {
    InetSocketAddress peer = InetSocketAddress::ConvertFrom(from);
    uint32_t row = flowOf.at({peer.GetIpv4(), peer.GetPort()});
    flows[row].receiver = DynamicCast<TcpSocketBase>(socket);
    socket->SetRecvCallback([row](Ptr<Socket> each) { Receive(row, each); });
}

static std::vector<Ptr<NetDevice>> ReadPath() {
    uint32_t count, link;
    std::vector<Ptr<NetDevice>> path;
    for (std::cin >> count; count > 0; count--) {
        std::cin >> link;
        path.push_back(devices[link]);
    }
    return path;
}

static Ptr<Node> NodeOf(uint32_t number, uint32_t numHosts) {
    while (nodes.size() <= number) {
        Ptr<Node> node = CreateObject<Node>();
        InternetStackHelper().Install(node);
        if (nodes.size() >= numHosts) {
            Ptr<PathRouting> routing = CreateObject<PathRouting>();
            routing->node = node;
            node->GetObject<Ipv4>()->SetRoutingProtocol(routing);
        }
        nodes.push_back(node);
    }
    return nodes[number];
}

static void Tell() {
    std::cout << Simulator::Now().GetNanoSeconds() << " " << ended.size() << " " << underway.size();
    for (uint32_t row : ended) std::cout << " " << row;
    for (uint32_t row : underway) {
        Flow& flow = flows[row];
        uint64_t waiting = flow.receiver ? flow.receiver->GetRxBuffer()->Size() : 0;
        std::cout << " " << row << " " << flow.received + waiting;
    }
    std::cout << std::endl;
    ended.clear();
}

int main(int count, char** words) {
    std::string transport;
    uint32_t numHosts = 0, numFlows = 0, segment = 0, window = 0, ackEvery = 1, receiveBuffer = 0, numCables = 0;
    double leastTimer = 0, ackDelay = 0;
    bool timestamps = false;
    CommandLine line(__FILE__);
    line.AddValue("transport", "dctcp, cubic, newreno, or reno: newreno without selective acknowledgements", transport);
    line.AddValue("hosts", "number of hosts", numHosts);
    line.AddValue("cables", "number of cables", numCables);
    line.AddValue("flows", "number of flows", numFlows);
    line.AddValue("segment", "payload of a full packet in bytes", segment);
    line.AddValue("timestamps", "whether headers have timestamps, of 12 bytes", timestamps);
    line.AddValue("window", "first window in packets", window);
    line.AddValue("least-timer", "shortest timer in s", leastTimer);
    line.AddValue("ack-every", "packets that are acknowledged together", ackEvery);
    line.AddValue("ack-delay", "time in s after which fewer are", ackDelay);
    line.AddValue("receive-buffer", "bytes that a receiver has room for; 0: without limit", receiveBuffer);
    line.Parse(count, words);

    std::map<std::string, TypeId> types = {{"dctcp", TcpDctcp::GetTypeId()}, {"cubic", TcpCubic::GetTypeId()}};
    auto type = types.find(transport);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(type == types.end() ? TcpNewReno::GetTypeId() : type->second));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(transport != "reno"));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(leastTimer)));
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(0.5));  // a port is soon free again
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(leastTimer)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    // Switches find the path of a packet by its ports, which only the first of its fragments would have.
    uint32_t headers = 40 + (timestamps ? 12 : 0);  // IP's and TCP's
    Config::SetDefault("ns3::PointToPointNetDevice::Mtu", UintegerValue(std::max<uint32_t>(1500, segment + headers)));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(ackEvery));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(Seconds(ackDelay)));
    // Of one size: ns-3.37 ends with a fault where a receiver has less room than the sender.
    uint32_t space = receiveBuffer > 0 ? receiveBuffer : SPACE;
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(space));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(space));

    PointToPointHelper cable;
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
    Ipv4StaticRoutingHelper routing;
    for (uint32_t number = 0; number < numCables; number++) {
        uint32_t ends[2], room, mark;
        double rate, delay;
        std::cin >> ends[0] >> ends[1] >> delay;
        cable.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
        NetDeviceContainer made = cable.Install(NodeOf(ends[0], numHosts), NodeOf(ends[1], numHosts));
        for (uint32_t way = 0; way < 2; way++) {
            std::cin >> rate >> room >> mark;
            Ptr<PointToPointNetDevice> device = made.Get(way)->GetObject<PointToPointNetDevice>();
            Ptr<MarkingQueue> queue = CreateObject<MarkingQueue>();
            queue->SetMaxSize(QueueSize(QueueSizeUnit::BYTES, room));
            queue->markAbove = mark;
            device->SetQueue(queue);
            device->SetDataRate(DataRate((uint64_t)rate));
            devices.push_back(device);
        }
        Ipv4InterfaceContainer interfaces = address.Assign(made);
        address.NewNetwork();
        TrafficControlHelper().Uninstall(made);
        for (uint32_t end = 0; end < 2; end++) {
            if (ends[end] >= numHosts) continue;
            Ptr<Node> host = nodes[ends[end]];
            addresses[ends[end]] = interfaces.GetAddress(end);
            routing.GetStaticRouting(host->GetObject<Ipv4>())->SetDefaultRoute(interfaces.GetAddress(1 - end), 1);
            Ptr<Socket> listener = Socket::CreateSocket(host, TcpSocketFactory::GetTypeId());
            listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
            listener->Listen();
            listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Accept));
        }
    }
    flows.resize(numFlows);
    for (Flow& flow : flows) std::cin >> flow.source >> flow.destination >> flow.size;
    int64_t row, time;
    for (char command; std::cin >> command;) {
        if (command == 's') {
            std::cin >> row >> time;
            flows[row].there = ReadPath();
            flows[row].back = ReadPath();
            Simulator::Schedule(NanoSeconds(time) - Simulator::Now(), &Begin, (uint32_t)row);
        } else {
            std::cin >> time;
            EventId end = Simulator::Schedule(NanoSeconds(time) - Simulator::Now(), [] { Simulator::Stop(); });
            Simulator::Run();
            end.Cancel();
            Tell();
        }
    }
    Simulator::Destroy();
}
